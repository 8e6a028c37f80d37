"""The very beginning of the ``synparse`` command: nothing is loaded before Ctrl-C is quiet."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Entry point of the ``synparse`` command. While it is loaded, Ctrl-C ends the process without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cli.main import run
    from cli.streams import prepare

    prepare()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run())
