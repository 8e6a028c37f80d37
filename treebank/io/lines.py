"""Numbered lines of text files, streamed: UTF-8, compressed files, stdin, and errors that say where."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from treebank.base.errors import BadLineError, TreebankError
from treebank.io.opening import DAMAGED, STDIN, PathSlice, compression, ends_as_on_old_macs, open_bytes

__all__ = ["STDIN", "OnBad", "count_lines", "member_lines", "nothing_waits", "open_blocks", "open_lines", "report"]

OnBad = Callable[[TreebankError], None]  # told of each broken sentence by a reader that leaves it out and goes on
_BLOCK = 1 << 18
LONGEST_LINE = 1 << 26  # bytes
_ENDLESS = f"this line has no end within {LONGEST_LINE >> 20} MB; is this a text, one sentence a line?"
_stdin = {"left": 0, "open": 0}  # lines of the last block of stdin that were not taken yet; whether it is being read


def report(error: TreebankError, on_bad: OnBad | None) -> None:
    """Tell ``on_bad`` of a broken sentence; without it, raise the error."""
    if on_bad is None:
        raise error
    on_bad(error)


def open_lines(path: str, *, keep_returns: bool = False, on_bad: OnBad | None = None) -> Iterator[tuple[int, str]]:
    r"""Each line of a file with its number (from 1), without its end; ``-`` reads stdin, compressed files are unpacked.

    A line ends at ``\n`` and nowhere else; one ``\r`` before it is dropped. So U+2028, U+0085, form feed and a lone
    ``\r`` stay inside their line, unless the file begins with lines of an old Mac, which end with ``\r`` alone; with
    ``keep_returns`` so does the one before ``\n``, as who counts characters wants it. A byte-order mark at the start is
    dropped. Raises TreebankError for a file that cannot be read, is not UTF-8 (or the encoding that an `InputPath`
    names), holds NUL bytes, or is a damaged compressed file. With ``on_bad``, a line that is not UTF-8 or holds NUL
    bytes is told to it as a `BadLineError` and read as an empty one.
    """
    watched = path == STDIN
    for first, text in open_blocks(path, keep_returns=keep_returns, on_bad=on_bad):
        lines = text.removesuffix("\n").split("\n")
        if not watched:
            yield from enumerate(lines, first)
            continue
        for number, line in enumerate(lines, first):
            _stdin["left"] = first + len(lines) - 1 - number
            yield number, line


def member_lines(stream: IO[bytes], name: str) -> Iterator[tuple[int, str]]:
    """Each line of a file in an archive with its number, without its end. Raises UnicodeDecodeError, and TreebankError
    for a line that never ends."""
    lines = io.BufferedReader(cast(Any, stream))
    number = 0
    while line := lines.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TreebankError(name, number, _ENDLESS)
        yield number, line.decode("utf-8").removesuffix("\n").removesuffix("\r")


def count_lines(path: str) -> int | None:
    """How many lines a file has, counted at the speed of the disk; None of what is no plain file of lines."""
    if not os.path.isfile(path):
        return None
    count, last = 0, b""
    with open(path, "rb", buffering=0) as handle:
        if compression(block := handle.read(_BLOCK)):
            return None
        end = b"\r" if ends_as_on_old_macs(block) else b"\n"
        while block:
            count, last = count + block.count(end), block[-1:]
            block = handle.read(_BLOCK)
    return count + (last not in (b"", end))


def nothing_waits() -> bool:
    """Whether standard input is being read line by line, and no further line has come yet.

    Who collects lines for later should go on with what there is. False for files, which never wait.
    """
    if not _stdin["open"] or _stdin["left"]:
        return False
    try:
        return not select.select([sys.stdin.buffer], [], [], 0)[0]
    except (OSError, ValueError):  # a stream that cannot be asked, as in tests or on Windows
        return False


def open_blocks(path: str, *, keep_returns: bool = False, on_bad: OnBad | None = None) -> Iterator[tuple[int, str]]:
    r"""The text of ``open_lines`` in blocks of whole lines, each with the number of its first line.

    What a pipe holds is given at once. Every line ends with ``\n``, but the last of the file may not.
    """
    part = path if isinstance(path, PathSlice) else None
    line, offset = (part.line, part.start) if part else (1, 0)
    with telling_damage(path):
        try:
            for data in _whole_lines(path):
                good, problem = _decode(path, line, offset, data, keep_returns)
                if problem and on_bad:
                    good, problem = _line_by_line(path, line, offset, data, keep_returns, on_bad), None
                if good:
                    yield line, good
                if problem:
                    raise problem
                line += good.count("\n")
                offset += len(data)
        except _EndlessLineError:
            raise TreebankError(path, line, _ENDLESS) from None


@contextmanager
def telling_damage(path: str) -> Iterator[None]:
    """Raises what cannot be read, or not be unpacked, as a TreebankError of ``path``."""
    try:
        yield
    except EOFError:
        raise TreebankError(path, 0, "this compressed file ends too early; copy or download it again") from None
    except DAMAGED as error:
        raise TreebankError(path, 0, f"this is a damaged compressed file ({error})") from None
    except OSError as error:
        problem_text = (error.strerror or str(error)).lower()
        damaged = "invalid data stream" in problem_text
        what = "this is a damaged compressed file" if damaged else f"cannot be read: {problem_text}"
        raise TreebankError(path, 0, what) from None


class _EndlessLineError(Exception):
    """A line that is longer than any text has."""


def _whole_lines(path: str) -> Iterator[bytes]:
    """Blocks of bytes that end with a line, but for the last; never more is awaited than the line that was begun."""
    rest = list[bytes]()
    with open_bytes(path) as handle:
        watched = path == STDIN and compression(handle.peek(8)[:8]) is None and handle is sys.stdin.buffer
        _stdin["open"] += watched
        try:
            while data := handle.read1(_BLOCK):
                end = data.rfind(b"\n") + 1
                if not end and b"\0" not in data:
                    rest.append(data)
                    if len(rest) * _BLOCK > LONGEST_LINE and sum(map(len, rest)) > LONGEST_LINE:
                        raise _EndlessLineError
                    continue
                end = end or len(data)  # what holds a NUL byte is refused without waiting for the end of the line
                yield b"".join([*rest, data[:end]])
                rest = [data[end:]] if data[end:] else []
        finally:
            _stdin["open"] -= watched
    if rest:
        yield b"".join(rest)


def _line_by_line(path: str, line: int, offset: int, data: bytes, keep_returns: bool, on_bad: OnBad) -> str:
    """The text of ``data`` with an empty line for each that cannot be decoded."""
    texts = []
    for number, raw in enumerate(_split(data), line):
        text, problem = _decode(path, number, offset, raw, keep_returns)
        if problem:
            on_bad(BadLineError(path, number, problem.message))
            text = "\n"
        texts.append(text)
        offset += len(raw)
    return "".join(texts)


def _split(data: bytes) -> list[bytes]:
    """The lines of ``data`` with their ends, which are ``\\n`` alone."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _decode(path: str, line: int, offset: int, data: bytes, keep_returns: bool) -> tuple[str, TreebankError | None]:
    """The text of ``data``, which begins at byte ``offset``; with an error, the lines before the one at fault."""
    problem = None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        text = data[:start].decode()
        end = data.find(b"\n", start)
        raw = data[start : end if end >= 0 else len(data)]
        at = f"byte {error.start - start + 1} of the line, byte {offset + error.start + 1} of the file"
        found = f"invalid UTF-8 (0x{data[error.start]:02x} at {at})"
        problem = TreebankError(path, line + text.count("\n"), _not_utf8(found, raw, data))
    if "\0" in text:
        text = text[: text.rfind("\n", 0, text.index("\0")) + 1]
        problem = TreebankError(path, line + text.count("\n"), _with_nul(data))
    if not offset:
        text = text.removeprefix("\ufeff")
    if "\r" in text and not keep_returns:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text, problem


def _with_nul(data: bytes) -> str:
    """What a file with NUL bytes is: one of two-byte characters without their mark, or no text."""
    pairs = len(data) // 2
    for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if pairs > 1 and zeros.count(0) > 0.4 * pairs and data.count(0) < 1.1 * zeros.count(0):
            return f"this holds NUL bytes and looks like UTF-16; give --encoding {name}, or convert it to UTF-8"
    return "this is a binary file (it holds a NUL byte), not text"


def _not_utf8(found: str, raw: bytes, block: bytes) -> str:
    if raw[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return f"{found}: this looks like UTF-32; give --encoding utf-32, or convert it to UTF-8"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{found}: this looks like UTF-16; give --encoding utf-16, or convert it to UTF-8"
    if b"\0" in raw:
        return f"this is a binary file, not text: {found}"
    fitting = encodings_that_fit(block)
    if not fitting:
        return f"{found}; convert the file to UTF-8 (iconv -f latin1 -t utf-8)"
    return f"{found}; as {' or '.join(fitting)} it can be read: give --encoding {fitting[0]}"


def encodings_that_fit(data: bytes, *, most: int = 3) -> list[str]:
    """The encodings in which these bytes make likely text, the commonest first."""
    from charset_normalizer import from_bytes  # here, because only broken files need it

    matches = list(from_bytes(data[: 1 << 14], cp_isolation=_CANDIDATES))
    likely = max((match.coherence for match in matches), default=0.0) - _ABOUT_AS_LIKELY
    names = {name for match in matches if match.coherence >= likely for name in match.could_be_from_charset}
    return [name.replace("iso8859_", "iso-8859-") for name in _CANDIDATES if name in names][:most]


_ABOUT_AS_LIKELY = 0.1
_CANDIDATES = [  # the commonest first
    *("iso8859_15", "cp1252", "cp1251", "koi8_r", "cp1250", "iso8859_2", "cp1253", "iso8859_9", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "cp1258", "tis_620", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
]
