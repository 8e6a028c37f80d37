"""Output as lines of text or drawings, on a terminal or in a file."""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from textwrap import fill
from typing import IO, TYPE_CHECKING, Any

from cli.process import ColoredOutput
from treebank.base.errors import SynparseError, placed
from treebank.base.files import begin, finish, real
from treebank.io.output_path import STANDARD_OUTPUT, check_output
from treebank.io.source import COMPRESSED

if TYPE_CHECKING:
    from treebank.core.sentence import Sentence

DRAW_SENTENCE = "treebank.draw.terminal:draw_sentence"  # an optional part of the program, hence called by name
DESCRIPTORS = ("/dev/fd/", "/dev/stderr", "/proc/")  # written directly, even if a regular file is open there


def drawing(sentence: Sentence, gold: Sentence | None = None, *, name: str = "") -> str:
    """A tree or heads drawn with characters in the width of the terminal, or "" for a sentence without words."""
    from induce.registry import load

    text: str = load(DRAW_SENTENCE)(sentence, gold, name=name, width=shutil.get_terminal_size().columns)
    return text


def wrapped(text: str, stream: IO[str]) -> str:
    """``text`` with lines broken between words if ``stream`` is a terminal, else unchanged."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@contextmanager
def open_output(path: str | None, *, colored: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes one line to standard output or to the file ``path`` (compressed for ``.gz``).

    On a terminal, control characters are shown, except in ``colored`` lines. A ``.csv`` file begins with the byte-order
    mark by which spreadsheets recognize UTF-8.

    The lines are written to a temporary file next to ``path``, which is renamed once it is complete on disk. Until
    then an existing file at ``path`` is unchanged; its permissions are kept. If two programs write the same path, the
    file of the later one replaces the other completely. Lines written before an error are kept, and a note on the
    error names their file; after an interruption they are removed. Devices and pipes are written directly.
    """
    if path is None or path in STANDARD_OUTPUT:
        stream: Any = ColoredOutput() if colored else None
        yield lambda line: print(line, file=stream, flush=True)  # click.echo would remove escape sequences from words
        return
    if not path.startswith(DESCRIPTORS):
        check_output(path)
    if (end := os.path.splitext(path.lower())[1]) in COMPRESSED - {".gz"}:
        raise SynparseError(f"{path}: text is written plain or as .gz, not as {end}")
    if path.startswith(DESCRIPTORS) or (os.path.exists(path) and not os.path.isfile(path)):
        with placed(path), _text(open(path, "wb"), path) as stream:
            yield lambda line: print(line, file=stream)
        return
    target = real(path)
    part, descriptor = begin(target)
    lines = 0
    try:
        with placed(target), _text(os.fdopen(descriptor, "wb"), path) as stream:

            def write(line: str) -> None:
                nonlocal lines
                lines += 1
                print(line, file=stream)

            yield write
        finish(part, target)
    except BaseException as error:
        with suppress(OSError):
            if lines and os.path.getsize(part) and not isinstance(error, KeyboardInterrupt):
                error.add_note(f"the output written before the error is in {part}")
            else:
                os.unlink(part)
        raise


def _text(stream: IO[bytes], path: str) -> IO[str]:
    """``stream`` for text, compressed if ``path`` ends in ``.gz``."""
    target: Any = _Gzip(filename="", fileobj=stream, mode="wb", mtime=0) if path.lower().endswith(".gz") else stream
    encoding = "utf-8-sig" if path.lower().endswith((".csv", ".csv.gz")) else "utf-8"
    return io.TextIOWrapper(target, encoding=encoding, errors="surrogateescape", newline="\n")


class _Gzip(gzip.GzipFile):
    """A gzip file that also closes the underlying file."""

    def close(self) -> None:
        stream: Any = self.fileobj
        try:
            super().close()
        finally:
            if stream is not None:
                stream.close()
