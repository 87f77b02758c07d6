# SPDX-License-Identifier: MIT
import os
import shutil

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
    return gf.NOBODY
