#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the probe, NVML and both examples on this machine's GPU in under five
# minutes and compares the probe's account with NVML's utilisation:
#
#     bench/gpu.sh [BUILD-FOLDER]                       # on a real GPU
#     GPUFEED_SIMULATE=1 bench/gpu.sh [BUILD-FOLDER]    # on the simulated one
#
# One line of JSON per run on stdout; exit code 1 if any disagrees. PYTHON names
# the interpreter that has torch (python3), STEPS scales the length (200).
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd) || exit 2
python=${PYTHON:-python3}
steps=${STEPS:-200}
probe=$build/src/probe/libgpufeed-probe.so
compare=$build/bench/gpu_compare
job=$build/tests/probe/cuda_job
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

[ -x "$compare" ] || { echo "gpu.sh: build first: ninja -C $build" >&2; exit 2; }
if [ "${GPUFEED_SIMULATE:-}" = 1 ]; then
    export LD_LIBRARY_PATH=$build/sim GPUFEED_SIM_LIBDIR=$build/sim GPUFEED_SIM_DIR=$work
    echo "gpu.sh: simulated accelerator" >&2
else
    nvidia-smi --query-gpu=name,driver_version,mig.mode.current --format=csv,noheader >&2 ||
        { echo "gpu.sh: no NVIDIA GPU here; try GPUFEED_SIMULATE=1" >&2; exit 2; }
fi

# run NAME KERNEL-SECONDS COMMAND...: kernel seconds 0 where they are not known beforehand
run() {
    local name=$1 asked=$2
    shift 2
    timeout 120 "$compare" -n "$name" -c "$asked" "$probe" -- "$@" 2>"$work/err" || {
        echo "gpu.sh: $name: exit $?" >&2
        cat "$work/err" >&2
        bad=1
    }
}

share() { awk "BEGIN { printf \"%.3f\", $steps * $1 / 1e3 }"; }

# C: fed, half fed, starved; then the launch storm, which shows what a launch costs
run c-fed "$(share 20)" "$build/examples/train" --steps "$steps" --decode-ms 0 --compute-ms 20
run c-half "$(share 20)" "$build/examples/train" --steps "$steps" --workers 0 --batch 10 \
    --decode-ms 2 --compute-ms 20
run c-pageable "$(share 10)" "$build/examples/train" --steps "$steps" --pageable \
    --sample-bytes 1048576 --decode-ms 0 --compute-ms 10
for i in 1 2 3; do
    printf '{"name": "launch-bare-%d", "result": "%s"}\n' "$i" "$("$job" storm 20000)"
    mkdir -p "$work/ring"
    printf '{"name": "launch-probe-%d", "result": "%s"}\n' "$i" "$(
        CUDA_INJECTION64_PATH=$probe GPUFEED_RING_DIR=$work/ring "$job" storm 20000)"
    rm -rf "$work/ring"
done

# Python: torch.cuda where it can, else the driver; how long its kernels run is not exact there
if "$python" -c 'import torch' 2>/dev/null; then
    asked=0
    "$python" -c 'import sys, torch; sys.exit(torch.cuda.is_available())' 2>/dev/null ||
        [ "${GPUFEED_SIMULATE:-}" = 1 ] || asked=-1
    [ $asked = 0 ] && asked=$(share 20) || asked=0
    run python-fed "$asked" "$python" "$here/examples/train_images.py" --steps "$steps" \
        --decode-ms 0.1 --compute-ms 20
    run python-starved "$asked" "$python" "$here/examples/train_images.py" --steps "$steps" \
        --workers 1 --batch 10 --decode-ms 4 --compute-ms 20
else
    echo "gpu.sh: $python has no torch; train_images.py was not run" >&2
fi
exit $bad
