"""What all tests share: no deadlines, which would be those of a quiet machine, and a server that forks the program."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.reference import ROOT

hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(scope="session")
def warm() -> Iterator[str]:
    """The address of a server of ``tests.warm``."""
    with tempfile.TemporaryDirectory() as folder:  # the name of a socket must be short
        address = str(Path(folder) / "warm")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.warm", address]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as server:  # type: ignore[call-overload]
            assert server.stdout.readline() == b"ready\n"
            try:
                yield address
            finally:
                server.kill()
