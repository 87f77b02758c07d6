#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sanitize.sh BUILD: the tests under gcc's address and undefined-behaviour sanitizers. Those that
# load our libraries into programs that were not built that way (Python jobs) or judge what gpufeed
# costs cannot run so and are named. The rest must pass without a word from a sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
foreign='^(scenarios-(privileged|unprivileged)|packaging-demo|cmd-many|cmd-report|cmd-bad_days)$'

[ -e "$build/build.ninja" ] ||
    CC=gcc meson setup "$build" -Db_sanitize=address,undefined >/dev/null
ninja -C "$build"
mapfile -t all < <(meson test -C "$build" --no-rebuild --list 2>/dev/null | sed 's/.* \/ //')
tests=()
for name in "${all[@]}"; do
    if [[ $name =~ $foreign ]]; then
        echo "not under sanitizers: $name"
    else
        tests+=("$name")
    fi
done
[ ${#tests[@]} -gt 0 ] || { echo "sanitize.sh: there are no tests in $build" >&2; exit 1; }
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
meson test -C "$build" --no-rebuild --print-errorlogs --num-processes 2 --timeout-multiplier 4 "${tests[@]}"
