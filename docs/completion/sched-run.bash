# Completion of sched-run for bash: source it, or install it as .../bash-completion/completions/sched-run.

_sched_run() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=run i options
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            run | expand | diff | import | devices | ops | help)
                [[ $i -eq 1 ]] && command=${COMP_WORDS[i]}
                ;;
        esac
    done
    case $before in
        -f | --format)
            COMPREPLY=($(compgen -W "text ggml json jsonl dot svg html" -- "$word"))
            return
            ;;
        --rules)
            COMPREPLY=($(compgen -W "reference latest all help" -- "$word"))
            return
            ;;
        --fail-on)
            COMPREPLY=($(compgen -W "error warning info fallback weight-copy alias order offload realloc limits copies
                preallocated late-input assignment split-twice stale-input overlap race host-bounce imbalance
                help" -- "$word"))
            return
            ;;
        --color)
            COMPREPLY=($(compgen -W "auto always never" -- "$word"))
            return
            ;;
        -d | --debug | --realloc)
            COMPREPLY=($(compgen -W "0 1 2" -- "$word"))
            return
            ;;
        -p | --param | -P | --place | -A | --assign | -e | --explain | -t | --threads | --copies | --max-split-inputs | --max-backends | \
            --print | --compare | --nmse | --graph)
            return
            ;;
        --dump)
            COMPREPLY=($(compgen -d -- "$word"))
            return
            ;;
        -b | --backends | -W | --weights | -o | --output | --trace)
            COMPREPLY=($(compgen -f -- "$word"))
            return
            ;;
    esac
    case $command in
        run)
            options="--param --backends --place --assign --weights --threads --no-compute --compute --trace --print
                --dump --compare --nmse --drift --copies --parallel
                --no-op-offload --max-split-inputs --max-backends --rules --simulate-missing --debug --realloc --format --unfold
                --output --check --check-outputs --explain --steps --memory --estimate --batches --sweep --lint --fail-on --quiet --verbose --color --version --help"
            ;;
        diff)
            options="--param --backends --place --assign --weights --copies --parallel --no-op-offload
                --max-split-inputs --max-backends --rules --simulate-missing --only-a --only-b --both --format --all
                --output --quiet --verbose --color --version --help"
            ;;
        expand)
            options="--param --backends --place --assign --weights --simulate-missing --output --quiet --version --help"
            ;;
        import)
            options="--graph --no-pins --output --quiet --version --help"
            ;;
        *)
            options="--version --help"
            ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    elif [[ $command == help ]]; then
        COMPREPLY=($(compgen -W "run expand diff import devices ops help" -- "$word"))
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "run expand diff import devices ops help" -- "$word") $(compgen -f -- "$word"))
    elif [[ $command == run || $command == expand || $command == diff || $command == import ]]; then
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}

complete -o filenames -F _sched_run sched-run
