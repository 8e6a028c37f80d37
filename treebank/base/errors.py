"""Errors that a user can act on. ``cli.main`` prints each as one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class SynparseError(Exception):
    """An error message in one line: location, problem, remedy."""


class UsageError(SynparseError):
    """Options that cannot be used, or not together. The exit code of ``synparse`` is 2."""


class UnknownNameError(UsageError):
    """An unknown name was given."""


class NotANumberError(SynparseError):
    """Output of a model that contains NaN."""

    def __init__(self) -> None:
        super().__init__("the output of the model is not a number; train it again")


class TreebankError(SynparseError):
    """An error in one line of a file: ``path:line: message``. Lines count from 1, and 0 refers to the complete file."""

    def __init__(self, path: str, line: int, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        name = "standard input" if self.path == "-" else self.path
        super().__init__(f"{name}:{line}: {message}" if line else f"{name}: {message}")

    def __reduce__(self) -> tuple[type[TreebankError], tuple[str, int, str]]:
        """Constructor and arguments, so that the error can be sent to another process."""
        return type(self), (self.path, self.line, self.message)


#: messages of torch and the C library when memory runs out; torch has no exception of its own for the CPU
_OUT_OF_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "Cannot allocate memory",
    "out of memory",  # on a GPU
    "bad_alloc",
    "could not create a primitive",  # oneDNN, without memory for its scratch space
)


def out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` reports that there was not enough memory."""
    has_message = isinstance(error, RuntimeError) and any(message in str(error) for message in _OUT_OF_MEMORY)
    return has_message or isinstance(error, MemoryError)


@contextmanager
def placed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file ``path`` to an OSError that names no file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
