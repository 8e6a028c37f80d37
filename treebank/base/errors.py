"""The errors that a user can act on; ``cli.main`` prints each as one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class SynparseError(Exception):
    """One line that says where, what was found, and what helps."""


class UnknownNameError(SynparseError):
    """Somebody asked for something by a name that nothing has; ``synparse`` ends as for any wrong usage, with 2."""


class TreebankError(SynparseError):
    """Something wrong at one line of one file: ``path:line: message``.

    ``line`` counts from 1; 0 means the file as a whole.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        place = "standard input" if self.path == "-" else self.path
        super().__init__(f"{place}:{line}: {message}" if line else f"{place}: {message}")


def printable(text: str) -> str:
    """``text`` in one line, harmless on a terminal: a space for a line end, ``\\x1b`` for an escape character.

    What turns the direction of writing around is spelt out, too; letters of all scripts stay.
    """
    return "".join(f"\\x{ord(c):02x}" if c in _UNPRINTABLE else c for c in text.replace("\n", " "))


_UNPRINTABLE = frozenset(map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


class BadLineError(TreebankError):
    """A line of text that cannot be decoded; who goes on reads it as an empty one."""


#: what torch and the C library say when memory runs out; torch has no exception of its own for the CPU
_OUT_OF_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "Cannot allocate memory",
    "out of memory",  # on a GPU
    "bad_alloc",
    "could not create a primitive",  # oneDNN, where its scratch space cannot be had
)


def out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that there was not enough memory."""
    told = isinstance(error, RuntimeError) and any(sign in str(error) for sign in _OUT_OF_MEMORY)
    return told or isinstance(error, MemoryError)


@contextmanager
def placed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Gives an OSError that does not say where it happened, as that of a full disk, the file ``path``."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
