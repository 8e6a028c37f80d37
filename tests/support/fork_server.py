"""Calls of the program in separate processes, without the seconds of loading torch.

A server (``python -m tests.support.fork_server SOCKET``) loads the package once and forks for every call, which has
the caller's
folder, environment and streams. As a script (``python -IS tests/support/fork_server.py SOCKET ARGUMENT…``) this file
is the caller.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any


class Call:
    """A call that has begun: ``synparse ARGUMENT…``, or the Python code ``program`` with ``sys.argv[1:]``."""

    def __init__(
        self,
        address: str,
        arguments: Sequence[str],
        *,
        program: str = "",
        streams: Sequence[int] = (0, 1, 2),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        request = {
            "arguments": list(arguments),
            "program": program,
            "folder": os.getcwd(),
            "environment": dict(environment),
        }
        socket.send_fds(self._socket, [b"."], list(streams))
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        self._answer: IO[str] = self._socket.makefile()
        self.pid = int(self._answer.readline())

    def wait(self) -> int:
        """The exit code, which is the negative number of the signal for a killed call."""
        code = int(self._answer.readline())
        self._answer.close()
        self._socket.close()
        return code


def serve(address: str) -> None:
    """Answer calls until killed."""
    import pkgutil
    import signal
    from contextlib import suppress
    from importlib import import_module

    from treebank.corpora.sample import sample_treebank

    for name in ("treebank", "induce", "cli"):
        for module in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            with suppress(ImportError):  # a module that needs a package that is not installed
                import_module(module.name)
    import tests.support.tiny  # noqa: F401

    sample_treebank("train")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen()
    os.rename(f"{address}.new", address)  # the path exists only once the server answers
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _answer(connection)
            os._exit(0)
        connection.close()


def _answer(connection: socket.socket) -> None:
    """Fork the call and send its process id, then its exit code."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().readline())
    pid = os.fork()
    if pid == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os._exit(_run(request))
    for stream in streams:
        os.close(stream)
    connection.sendall(f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(f"{code}\n".encode())


def _run(request: dict[str, Any]) -> int:
    """Run a call, flush its output and return its exit code."""
    import atexit
    import traceback

    from cli.start import main

    atexit._clear()  # exit functions of the server
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["synparse", *request["arguments"]]
    code = 0
    try:
        if request["program"]:
            exec(compile(request["program"], "<program>", "exec"), {"__name__": "__main__"})
        else:
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()  # os._exit skips these, which remove temporary files
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    return code


if __name__ == "__main__":
    if len(sys.argv) == 2 and __package__:
        serve(sys.argv[1])
    else:
        sys.exit(Call(sys.argv[1], sys.argv[2:]).wait() % 256)
