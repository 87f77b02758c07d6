#!/bin/sh
# SPDX-License-Identifier: MIT
# find-torch.sh: prints a Python that has PyTorch ($PYTHON, python3, /usr/bin/python3), or fails.
for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    if "$python" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
exit 1
