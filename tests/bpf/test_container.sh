#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_container.sh GPUFEED TRAIN: in a pid namespace of its own (a container) threads have other
# numbers than on the host: the wait chain gives them as they are in there, and follows them.
set -euo pipefail
unshare --pid --fork --mount-proc true 2>/dev/null || {
    echo "skipped: pid namespaces are not permitted here"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unshare --pid --fork --mount-proc "$1" run --simulate -o "$work/x.gpufeed" --report "$work/text" -- \
    "$2" --steps 10 --compute-ms 2 --workers 1 --batch 4 --decode-ms 50
cat "$work/text"
grep -qE '^ +data preparation ' "$work/text"
if grep -q 'CAP_\|cannot load\|refuses BPF\|type information' "$work/text"; then
    echo "skipped: no wait chain here"
    exit 77
fi
grep -q ' wait chain ' "$work/text"
# who waited for whom, by the numbers that ps shows in there: the loader's 200 ms are the longest wait
"$1" report "$work/x.gpufeed" --chains | tee "$work/chains"
grep -qE '(train|main)[^ ]* [0-9]{1,2} waited for (loader|train)[^ ]* [0-9]{1,2} ' "$work/chains"
