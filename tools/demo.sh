#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: a PyTorch job that starves on a slow object store, measured.
set -euo pipefail
build=$1
python=${PYTHON:-/usr/bin/python3}
out=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$out"' EXIT
server=
simulate=()
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
    echo "No GPU here: the demo runs on the simulated accelerator (--simulate)."
    simulate=(--simulate)
fi
"$build/tests/scenarios/httpstore" --latency-ms 20 --port-file "$out/port" &
server=$!
for _ in $(seq 50); do [ -s "$out/port" ] && break; sleep 0.1; done
"$build/gpufeed" run "${simulate[@]}" --price 28 --currency EUR -o "$out/demo.gpufeed" -- \
    "$python" examples/train_images.py --data "http://127.0.0.1:$(cat "$out/port")" --workers 2 \
    --steps 120 --compute-ms 25
"$build/gpufeed" report "$out/demo.gpufeed" --html demo.html --price 28 && echo "HTML report: demo.html"
