#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# get-torch.sh BUILD: sees to a Python with PyTorch for demo and tests: one that is here, else the
# distribution's package, else (Ubuntu has none that is new enough) a wheel in BUILD/torch. Without
# any it says so and succeeds: the demo then takes the job in C.
set -euo pipefail
here=$(dirname "$0")
build=$1
"$here/find-torch.sh" "$build" >/dev/null && exit 0

packaged() {
    local version
    version=$(LC_ALL=C apt-cache policy python3-torch 2>/dev/null | sed -n 's/ *Candidate: \([0-9].*\)/\1/p')
    [ -n "$version" ] && dpkg --compare-versions "$version" ge 1.13
}
if packaged; then
    exec "$here/need.sh" python3-torch python3-numpy
fi
wheel() {
    "$here/need.sh" python3-venv &&
        python3 -m venv "$build/torch" &&
        "$build/torch/bin/pip" install -q --retries 1 --index-url https://download.pytorch.org/whl/cpu torch &&
        "$here/find-torch.sh" "$build" >/dev/null
}
echo "installing PyTorch for the CPU in $build/torch"
wheel || echo "PyTorch could not be installed; the demo takes the example in C, tests skip what needs it." >&2
