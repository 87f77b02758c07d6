#!/bin/sh
# SPDX-License-Identifier: MIT
# find-torch.sh [BUILD]: prints a Python that has PyTorch 1.13 or later ($PYTHON, python3,
# /usr/bin/python3, the one that get-torch.sh made in BUILD), or fails.
for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3 ${1:+"$1/torch/bin/python"}; do
    if "$python" - 2>/dev/null <<'PY'
import sys
from importlib.metadata import version
sys.exit([int(part) for part in version("torch").split(".")[:2]] < [1, 13])
PY
    then
        command -v "$python"
        exit 0
    fi
done
exit 1
