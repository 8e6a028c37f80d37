"""Entry point of the ``synparse`` command, which sets the handling of Ctrl-C before it loads anything."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Entry point of the ``synparse`` command. During loading, Ctrl-C ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of NumPy, whose threads would compete with worker processes
    from cli.main import run
    from cli.process import prepare

    prepare()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run())
