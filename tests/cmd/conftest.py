# SPDX-License-Identifier: MIT
import os
import shutil
import subprocess

import pytest

import gf


@pytest.fixture
def folder():
    with gf.Folder() as path:
        yield path


@pytest.fixture(scope="session")
def recording():
    """One ordinary recording of a short job. Tests only read it."""
    with gf.Folder() as path:
        yield gf.record(path / "job.gpufeed")


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def nobody(root):
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    if subprocess.run([*gf.NOBODY, "test", "-x", gf.GPUFEED], check=False).returncode:
        pytest.skip("nobody may not enter the tree: it lies in a closed folder")
    return gf.NOBODY
