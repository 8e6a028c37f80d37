"""Shared settings of all tests: no deadlines, since other load varies, and a server that forks the program.

Workers (pytest -n) share one server.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

# before torch is loaded: the number of threads that is best changes with the load, and with it the last bits of weights
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait for each other leave the cores to other workers

import hypothesis
import pytest

from tests.support.reference import ROOT

pytest_plugins = ["tests.support.model_fixtures"]

gc.set_threshold(50_000, 20, 20)  # collecting cycles among the many objects of the tests would take a tenth of the time
EXAMPLES = int(os.environ.get("SYNPARSE_EXAMPLES", "40"))  # of each property; set it to 1000 for a thorough run

hypothesis.settings.register_profile("any machine", deadline=None, max_examples=EXAMPLES)
hypothesis.settings.load_profile("any machine")

SHARED_SERVER = "WARM_SERVER"  # environment variable with the address of the server that workers share


@contextmanager
def server() -> Iterator[str]:
    """The address of a server of ``tests.support.fork_server``, created once the server answers."""
    with tempfile.TemporaryDirectory() as folder:  # the name of a socket must be short
        address = str(Path(folder) / "warm")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.support.fork_server", address]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        with subprocess.Popen(command, cwd=ROOT, env=environment, **quiet) as process:  # type: ignore[call-overload]
            try:
                yield address
            finally:
                process.kill()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the server before the workers, in the process that only distributes tests."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        running = server()
        os.environ[SHARED_SERVER] = running.__enter__()
        session.config.add_cleanup(lambda: running.__exit__(None, None, None))


@pytest.fixture(scope="session")
def warm() -> Iterator[str]:
    """The address of a server of ``tests.support.fork_server``."""
    shared = os.environ.get(SHARED_SERVER)
    with nullcontext(shared) if shared else server() as address:
        end = time.monotonic() + 300
        while not Path(address).exists():
            assert time.monotonic() < end, "the server of tests.support.fork_server does not answer"
            time.sleep(0.05)
        yield address
