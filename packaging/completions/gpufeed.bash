# SPDX-License-Identifier: MIT
# Completion of gpufeed for bash. Verbs, options and what they want are read from the program's
# own --help, so they are always those of the program that is being completed.

# _gpufeed_verbs PROGRAM: one a line
_gpufeed_verbs() {
    "$1" --help 2>/dev/null | sed -n "/^usage:/,/^'/s/^  \([a-z][a-z-]*\)  *.*/\1/p"
}

# _gpufeed_options PROGRAM VERB: "--output FILE", "--json", "--simulate[=N]", ... one a line
_gpufeed_options() {
    "$1" "$2" --help 2>/dev/null | sed -n '
        /^  *-/!d
        s/^  *//
        s/   *.*//
        s/,$//
        s/\(-[a-z]\), \(--[a-z-]*\)\( [A-Z]*\)/\1\3, \2\3/
        s/, /\n/g
        p'
}

# _gpufeed_wants PROGRAM VERB OPTION: the name of the value, nothing if it wants none
_gpufeed_wants() {
    _gpufeed_options "$1" "$2" | sed -n "s/^$3 \([A-Z]*\)\$/\1/p"
}

_gpufeed_value() {
    case $1 in
    FILE | PATH | WHERE) mapfile -t COMPREPLY < <(compgen -f -- "$2"); compopt -o filenames ;;
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$2"); compopt -o filenames ;;
    PID) mapfile -t COMPREPLY < <(cd /proc && compgen -G '[0-9]*' | grep "^$2") ;;
    LEVEL) mapfile -t COMPREPLY < <(compgen -W 'info warning critical' -- "$2") ;;
    CODE) mapfile -t COMPREPLY < <(compgen -W 'EUR USD GBP CHF' -- "$2") ;;
    esac
}

# The index of the first word that belongs to the command of `run`; fails if there is none yet.
_gpufeed_command() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) echo $((i + 1)); return ;;
        -*) [ -z "$(_gpufeed_wants "$1" run "${COMP_WORDS[i]}")" ] || ((i++)) ;;
        *) echo "$i"; return ;;
        esac
    done
    return 1
}

_gpufeed() {
    local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
    local wants start
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_gpufeed_verbs "$program") --help --version" -- "$word")
        return
    fi
    if [ "$verb" = run ] && start=$(_gpufeed_command "$program"); then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$start"
        elif [ "$COMP_CWORD" -eq "$start" ]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        else
            _gpufeed_value FILE "$word"
        fi
        return
    fi
    wants=$(_gpufeed_wants "$program" "$verb" "${COMP_WORDS[COMP_CWORD - 1]}")
    if [ -n "$wants" ]; then
        _gpufeed_value "$wants" "$word"
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(_gpufeed_options "$program" "$verb" | sed 's/[ [].*//') --help" -- "$word")
    elif [ "$verb" = run ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
    elif [ "$verb" = report ] || [ "$verb" = diff ]; then # what other tools recorded may have any name
        _gpufeed_value FILE "$word"
    fi
}

complete -F _gpufeed gpufeed
