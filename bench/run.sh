#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [BUILD]: what gpufeed costs, and how fast its parts are: the figures of bench/README.md.
# SHORT=1 takes one to two minutes instead of eight, with fewer pairs. As root it measures the wait
# chain, else the sampler. Always exits 0 unless it could not measure at all; the last line sums up.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd)
python=$("$here/tools/find-torch.sh" "$build") || {
    echo "run.sh: no Python here has PyTorch; set PYTHON, or install python3-torch" >&2
    exit 1
}
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/bench/bench.py" "$build" "${@:2}"
