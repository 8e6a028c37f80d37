"""Entry point of the ``synparse`` command, which sets the handling of Ctrl-C before it loads anything."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Entry point of the ``synparse`` command. During loading, Ctrl-C ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cli.main import run
    from cli.streams import prepare

    prepare()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run())
