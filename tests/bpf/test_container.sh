#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_container.sh GPUFEED TRAIN: in a pid namespace the kernel's thread numbers are not ours: the
# sampler does the work, a line says why, and the waits are told as on the host.
set -euo pipefail
unshare --pid --fork --mount-proc true 2>/dev/null || {
    echo "skipped: pid namespaces are not permitted here"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unshare --pid --fork --mount-proc "$1" run --simulate -o "$work/x.gpufeed" --report "$work/text" -- \
    "$2" --steps 60 --compute-ms 2 --workers 1 --batch 4 --decode-ms 2
cat "$work/text"
grep -q 'pid namespace (a container)' "$work/text"
grep -q ' sampler ' "$work/text"
grep -qE '^ +data preparation ' "$work/text"
