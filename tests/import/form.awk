# form.awk - a log of today in the form that a program of another time, a logger or a mail gives it: awk -v form=FORM.
#
# Forms, by date: 2023-10 2024-01 2024-03 2024-06 2024-12 2025-07 2026-01 2026-05.
# By what lies between: logger colours bare windows quoted docker journal pieces wrapped squeezed fenced json.

function pad(text, width) {
    text = substr(text, 1, width)
    while (length(text) < width) text = " " text
    return text
}

# The name of a copy as it was before copies had numbers.
function without_number(name) {
    if (name ~ /#[0-9]+$/) sub(/#[0-9]+$/, "", name)
    else if (name ~ /#$/) sub(/#$/, "", name)
    return name
}

# Splits "NAME (SIZE) [BACKEND CAUSE]" at the front of rest into globals.
function take_entry() {
    name = substr(rest, 2, 20)
    size = substr(rest, 24, 5)
    backend = substr(rest, 32, 5)
    cause = substr(rest, 38, 8)
    rest = substr(rest, 47)
    if (substr(name, 1, 1) == " ") sub(/^ +/, "", name)
}

function old_cause(c) {
    if (date >= "2024-06") return c
    if (date == "2023-10") {
        if (c ~ /wgt/) sub(/wgt/, "src", c)
        return c ~ /2\.sup|3\.(best|upg)/ ? "  2.src0" : c
    }
    if (c ~ /2\.sup/) return "     2.1"
    if (c ~ /3\.(best|upg)/) return "     2.3"
    if (c ~ /4\.vsrc/) return "  3.vsrc"
    if (c ~ /4\.cur/) return "   3.cur"
    return c
}

function entry(   n, s) {
    n = date < "2024-03" && backend ~ /NULL/ ? without_number(name) : name
    if (date == "2023-10") return pad(n, 20) " (" pad(trim(size), 4) ") [" pad(trim(backend), 4) " " old_cause(cause) "]"
    return pad(n, 20) " (" size ") [" backend " " old_cause(cause) "]"
}

function trim(text) {
    sub(/^ +/, "", text)
    return text
}

# A piece is what the reference hands to its logger at once.
function piece(text) {
    if (form == "logger") out = out sprintf("0.%02d.%03d.%03d D ", NR % 60, NR % 1000, length(out) % 1000) text
    else if (form == "colours") out = out "\033[34m0.04.329.872\033[0m \033[33mD \033[0m" text
    else if (form == "bare") out = out "D " text
    else if (form == "pieces" && out != "") out = out "\n[2026-05-01 10:00:00][DEBUG] " text
    else if (form == "pieces") out = "[2026-05-01 10:00:00][DEBUG] " text
    else out = out text
}

function uses(text) {
    if (date < "2025-07") return ":"
    if (date < "2026-01") sub(/,c=[01]/, "", text)
    return text
}

BEGIN {
    date = form ~ /^20/ ? form : "2026-05"
    unary = "ABS SGN NEG STEP TANH ELU RELU SIGMOID GELU GELU_QUICK SILU HARDSWISH HARDSIGMOI EXP GELU_ERF XIELU FLOOR CEIL"
    unary = unary " ROUND TRUNC SOFTPLUS EXPM1"
    glu = "REGLU GEGLU SWIGLU SWIGLU_OAI GEGLU_ERF GEGLU_QUIC"
    if (form == "fenced") print "Here is the log:\n\n```"
}

/^## SPLIT/ {
    out = ""
    text = $0
    head = text
    sub(/ inputs.*/, " inputs", head)
    tail = substr(text, length(head) + 1)
    piece(head)
    if (tail == "" && date < "2024-12") piece(": ")
    if (tail != "") {
        piece(": ")
        tail = substr(tail, 3)
        # "[NAME (SIZE)] " one by one
        while (match(tail, /\( *[0-9]+[KM]\)\] /)) {
            piece(substr(tail, 1, RSTART + RLENGTH - 1))
            tail = substr(tail, RSTART + RLENGTH)
        }
    }
    finish()
    next
}

/^node #/ {
    out = ""
    colon = index($0, "): ")
    op = substr($0, colon - 10, 10)
    if (date < "2026-05" && index(" " unary " ", " " trim(op) " ")) op = "     UNARY"
    if (date < "2026-05" && index(" " glu " ", " " trim(op) " ")) op = "       GLU"
    rest = substr($0, colon + 2)
    head = substr($0, 1, colon - 11) op "): "
    take_entry()
    head = head entry()
    match(rest, / use=[0-9]+,c=[01]:/)
    piece(head uses(substr(rest, 1, RLENGTH)))
    rest = substr(rest, RLENGTH + 1)
    while (length(rest) > 40) {
        take_entry()
        piece(" " entry())
    }
    finish()
    next
}

function finish() {
    if (form == "logger" || form == "bare" || form == "colours") piece("") # the line's end is a piece, too
    if (form == "windows") out = out "\r"
    else if (form == "quoted") out = "> " out
    else if (form == "docker") out = "llama-1  | " out
    else if (form == "journal") out = "May 01 10:00:" sprintf("%02d", NR % 60) " host llama-server[4711]: " out
    else if (form == "fenced") out = "    " out
    else if (form == "squeezed") gsub(/ +/, " ", out)
    else if (form == "json") {
        gsub(/"/, "\\\"", out)
        out = "{\"log\":\"" out "\\n\",\"stream\":\"stderr\",\"time\":\"2026-05-01T10:00:00.000000000Z\"}"
    }
    if (form == "wrapped") {
        while (length(out) > 80) {
            print substr(out, 1, 80)
            out = substr(out, 81)
        }
    }
    print out
}

form == "quoted" || form == "bare" || form == "logger" { print form == "quoted" ? "> " $0 : form == "bare" ? "D " $0 : "0.04.329.872 D " $0; next }

{ print }

END { if (form == "fenced") print "```" }
