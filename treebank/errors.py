"""The errors that a user can act on; ``cli.main`` prints each as one line."""

from __future__ import annotations


class SynparseError(Exception):
    """One line that says where, what was found, and what helps."""


class TreebankError(SynparseError):
    """Something wrong at one line of one file: ``path:line: message``.

    ``line`` counts from 1; 0 means the file as a whole.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")


def nearest(name: str, known: object) -> str:
    """`` (did you mean 'x'?)`` for the known name closest to ``name``, else the list of all names."""
    from difflib import get_close_matches

    names = sorted(str(item) for item in known)  # type: ignore[attr-defined]
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(names)
