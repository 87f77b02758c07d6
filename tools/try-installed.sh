#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# try-installed.sh PREFIX: runs the gpufeed installed in PREFIX as a user would, with an empty
# environment, from another folder, and checks that it measured its own example.
set -euo pipefail
prefix=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
clean=(env -i PATH=/usr/bin:/bin)
fail() {
    echo "try-installed.sh: $*" >&2
    exit 1
}
need() {
    [ -e "$prefix/$1" ] || fail "$prefix/$1 is missing"
}

for file in bin/gpufeed lib/gpufeed/libgpufeed-probe.so lib/gpufeed/sim/libcuda.so.1 \
    lib/gpufeed/sim/libcupti.so.13 lib/gpufeed/sim/libnvidia-ml.so.1 lib/gpufeed/examples/train \
    lib/gpufeed/examples/train_images.py lib/gpufeed/examples/spin.ptx share/man/man1/gpufeed.1 \
    share/bash-completion/completions/gpufeed share/zsh/site-functions/_gpufeed; do
    need "$file"
done
"${clean[@]}" "$prefix/bin/gpufeed" --version
! ldd "$prefix/bin/gpufeed" | grep 'not found' || fail "a library is missing"
"${clean[@]}" "$prefix/bin/gpufeed" run --simulate -o try.gpufeed --json --report try.json -- \
    "$prefix/lib/gpufeed/examples/train" --steps 40 --compute-ms 5 --decode-ms 1
"${clean[@]}" "$prefix/bin/gpufeed" report try.gpufeed
python3 - try.json <<'PY' || fail "the report is not what the example did"
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
device, = report["accelerators"]
compute = device["state"]["compute"] * device["seconds"]
print(f"compute {compute:.3f} s of 0.200 s asked")
sys.exit(not (device["simulated"] and 0.19 < compute < 0.26))
PY
