#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: a PyTorch job that starves on a slow object store, measured; where there is no
# PyTorch, a job in C that starves on its own decoding. Leaves demo.gpufeed and demo.html in the
# current folder. DEMO_STEPS (100) says how long it takes.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")/.." && pwd)
python=$("$here/tools/find-torch.sh" "$build" || true)
steps=${DEMO_STEPS:-100}
examples=$here/examples
[ "$PWD" != "$here" ] || examples=examples
out=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$out"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

simulate=()
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
    echo "No GPU here: the demo takes the simulated accelerator (--simulate)."
    simulate=(--simulate)
fi

measure() {
    echo "    gpufeed run ${simulate[*]:+${simulate[*]} }--price 28 --currency EUR -- $*"
    "$build/gpufeed" run "${simulate[@]}" --price 28 --currency EUR -o demo.gpufeed \
        --html demo.html -- "$@" {hold}>&-
    echo
    echo "The same as a page: demo.html. More: $build/gpufeed report demo.gpufeed --chains"
}

if [ -z "$python" ]; then
    exec {hold}</dev/null
    echo "No PyTorch here: one thread decodes for a job in C that could take eight times as much:"
    measure "$build/examples/train" --workers 1 --steps "$steps" --compute-ms 20 --decode-ms 10
    exit
fi
# The store ends when the writing end of its input closes, so it cannot outlive this script.
exec {hold}> >(exec "$python" "$examples/slow_store.py" --latency-ms 20 --stdin >"$out/url")
server=$!
for _ in $(seq 100); do
    [ -s "$out/url" ] && break
    sleep 0.1
done
[ -s "$out/url" ] || { echo "demo.sh: the store did not start" >&2; exit 1; }
url=$(cat "$out/url")

echo "A training job reads images from a store that takes 20 ms for each (about $((steps / 5)) s):"
measure "$python" "$examples/train_images.py" --data "$url" --workers 2 --steps "$steps" --compute-ms 25
