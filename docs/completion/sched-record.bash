# Completion of sched-record for bash: source it, or install it as .../bash-completion/completions/sched-record.

_sched_record() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            -o | --output | --max | --only | --rules) i=$((i + 1)) ;;
            --)
                _command_offset $((i + 1))
                return
                ;;
            -*) ;;
            *)
                _command_offset "$i"
                return
                ;;
        esac
    done
    case $before in
        -o | --output)
            COMPREPLY=($(compgen -f -- "$word"))
            ;;
        --only)
            COMPREPLY=($(compgen -W "reserve alloc" -- "$word"))
            ;;
        --rules)
            COMPREPLY=($(compgen -W "reference latest" -- "$word"))
            ;;
        --max) ;;
        *)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--output --max --only --data --anonymise --log --verify --rules --quiet
                    --help --version" -- "$word"))
            else
                COMPREPLY=($(compgen -c -- "$word"))
            fi
            ;;
    esac
}

complete -o filenames -F _sched_record sched-record
