"""Numbered lines of text files, streamed, with errors that name the line and the byte."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, TypeVar, cast

from treebank.base.errors import TreebankError
from treebank.io.source import DAMAGED, STANDARD_INPUT, STDIN, AnyPath, Source, compression, take_stream, utf16_name

Item = TypeVar("Item")
OnBad = Callable[[TreebankError], None]  # called with the error of each malformed sentence, which is then skipped
BAD = "\0"  # replaces each character that cannot be decoded
BLOCK_BYTES = 1 << 18
LOOK_AHEAD = 1_000  # trees at the beginning of a file by which its format is judged
MAX_LINE_BYTES = 1 << 26
MAX_SENTENCE_CHARACTERS = 1 << 24  # of one sentence, so that one without an end does not fill the memory
_ENDLESS = f"this line has no end within {MAX_LINE_BYTES >> 20} MB; is this a text, one sentence per line?"
_ENCODINGS = "iso-8859-15 or cp1252 (Western European), cp1251 (Cyrillic), gb18030 (Chinese), shift_jis (Japanese)"


def report(error: TreebankError, on_bad: OnBad | None) -> None:
    """Call ``on_bad`` with the error. Without ``on_bad``, raise it."""
    if on_bad is None:
        raise error
    on_bad(error)


def check_size(path: str, line: int, characters: int) -> None:
    """Raises TreebankError if a sentence that starts in ``line`` has more characters than any sentence."""
    if characters > MAX_SENTENCE_CHARACTERS:
        raise TreebankError(path, line, f"this sentence has no end within {MAX_SENTENCE_CHARACTERS >> 20} MB; end it")


def look_ahead(
    read: Callable[[OnBad | None], Iterator[Item]],
    inspect: Callable[[Sequence[Item]], None],
    on_bad: OnBad | None,
) -> Iterator[Item]:
    """The items of ``read(on_bad)``. Before the first, ``inspect`` is called with up to ``LOOK_AHEAD`` of them.

    Errors are reported between the same items as without looking ahead.
    """
    queue: list[Item | TreebankError] = []
    failure = None
    items = read(on_bad and queue.append)
    try:
        queue.extend(islice(items, LOOK_AHEAD))
    except TreebankError as error:
        failure = error
    inspect([item for item in queue if not isinstance(item, TreebankError)])
    while queue:
        for entry in queue:
            if not isinstance(entry, TreebankError):
                yield entry
            elif on_bad:
                on_bad(entry)
        if failure:
            raise failure
        if on_bad is None:
            yield from items
            return
        queue.clear()
        queue.extend(islice(items, 1))
    if failure:
        raise failure


def open_lines(path: AnyPath, *, keep_returns: bool = False, on_bad: OnBad | None = None) -> Iterator[tuple[int, str]]:
    r"""Each line of an input, without its end, and its number (from 1).

    Only ``\n`` ends a line. One ``\r`` before it is dropped, unless ``keep_returns`` is true because characters are
    counted. U+2028, U+0085, form feeds and other ``\r`` are part of the line. A byte-order mark at the start is
    dropped unless characters are counted. Raises TreebankError for a file that cannot be read, is not in UTF-8 (or the
    encoding of its `Source`), contains NUL bytes, or is a damaged compressed file. With ``on_bad``, a line that is not
    UTF-8 or contains NUL bytes is reported to it before it is yielded, and contains `BAD`.
    """
    source = Source.of(path)
    errors: deque[TreebankError] = deque()
    for first, text in open_blocks(source, keep_returns=keep_returns, on_bad=on_bad and errors.append):
        lines = text.removesuffix("\n").split("\n")
        if source.path != STDIN and not errors:
            yield from enumerate(lines, first)
            continue
        for number, line in enumerate(lines, first):
            STANDARD_INPUT.pending_lines = first + len(lines) - 1 - number
            if on_bad and errors and errors[0].line == number:
                on_bad(errors.popleft())
            yield number, line


def member_lines(stream: IO[bytes], name: str) -> Iterator[tuple[int, str]]:
    """Each line of a file in an archive, without its end, and its number.

    Raises UnicodeDecodeError, and TreebankError for a line longer than ``MAX_LINE_BYTES``.
    """
    lines = io.BufferedReader(cast(Any, stream))
    number = 0
    while line := lines.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise TreebankError(name, number, _ENDLESS)
        yield number, line.decode("utf-8").removesuffix("\n").removesuffix("\r")


def count_lines(path: str) -> int | None:
    """Number of lines in a file, or None if it is compressed or not a regular file."""
    if not os.path.isfile(path):
        return None
    count, last = 0, b""
    with open(path, "rb", buffering=0) as stream:
        block = stream.read(BLOCK_BYTES)
        if compression(block):
            return None
        while block:
            count, last = count + block.count(b"\n"), block[-1:]
            block = stream.read(BLOCK_BYTES)
    return count + (last not in (b"", b"\n"))


def open_blocks(path: AnyPath, *, keep_returns: bool = False, on_bad: OnBad | None = None) -> Iterator[tuple[int, str]]:
    r"""Blocks of whole lines as in `open_lines`, each with the number of its first line.

    The content of a pipe is yielded as soon as it arrives. Every line but the last of the file ends with ``\n``.
    """
    source = Source.of(path)
    with report_damage(source.path):
        for line, offset, data in _whole_lines(source):
            text, error = _decode(source.path, line, offset, data, keep_returns)
            if error and on_bad:
                text, error = _decode_lines(source.path, line, offset, data, keep_returns, on_bad), None
            if text:
                yield line, text
            if error:
                raise error


@contextmanager
def report_damage(path: str) -> Iterator[None]:
    """Raise errors of reading and decompression as a TreebankError of ``path``."""
    try:
        yield
    except EOFError:
        raise TreebankError(path, 0, "this compressed file ends too early; copy or download it again") from None
    except DAMAGED as error:
        raise TreebankError(path, 0, f"this is a damaged compressed file ({error})") from None
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        damaged = "invalid data stream" in problem
        message = "this is a damaged compressed file" if damaged else f"cannot be read: {problem}"
        raise TreebankError(path, 0, message) from None


def _whole_lines(source: Source) -> Iterator[tuple[int, int, bytes]]:
    """Blocks of bytes that end with a line, except the last, with their first line and their offset in the file.

    At most the rest of one line is waited for.
    """
    rest: list[bytes] = []
    line, offset = source.line, source.start
    with source.open() as stream:
        STANDARD_INPUT.is_read = source.path == STDIN and stream is take_stream(STDIN)  # neither unpacked nor recoded
        try:
            while data := stream.read1(BLOCK_BYTES):
                end = data.rfind(b"\n") + 1
                if not end and b"\0" not in data:
                    rest.append(data)
                    if len(rest) * BLOCK_BYTES > MAX_LINE_BYTES and sum(map(len, rest)) > MAX_LINE_BYTES:
                        raise TreebankError(source.path, line, _ENDLESS)
                    continue
                end = end or len(data)  # a NUL byte is an error, so the end of its line is not waited for
                block = b"".join([*rest, data[:end]])
                yield line, offset, block
                line += block.count(b"\n")
                offset += len(block)
                rest = [data[end:]] if data[end:] else []
        finally:
            STANDARD_INPUT.is_read = False
    if rest:
        yield line, offset, b"".join(rest)


def _decode_lines(path: str, line: int, offset: int, data: bytes, keep_returns: bool, on_bad: OnBad) -> str:
    """The text of ``data``, in which lines that cannot be decoded contain `BAD`."""
    texts = []
    for number, raw in enumerate(io.BytesIO(data), line):
        text, error = _decode(path, number, offset, raw, keep_returns)
        if error:
            on_bad(error)
            text = raw.decode(errors="replace").replace("\ufffd", BAD).rstrip("\r\n") + "\n"
        texts.append(text)
        offset += len(raw)
    return "".join(texts)


def _decode(path: str, line: int, offset: int, data: bytes, keep_returns: bool) -> tuple[str, TreebankError | None]:
    """The text of ``data``, which starts at byte ``offset`` of the file.

    If a line cannot be decoded, the text consists of the lines before it, and the error is returned as well.
    """
    error = None
    try:
        text = data.decode()
    except UnicodeDecodeError as failure:
        start = data.rfind(b"\n", 0, failure.start) + 1
        text = data[:start].decode()
        position = f"byte {failure.start - start + 1} of the line, byte {offset + failure.start + 1} of the file"
        problem = f"invalid UTF-8 (0x{data[failure.start]:02x} at {position})"
        error = TreebankError(path, line + text.count("\n"), _not_utf8(problem, data[start:].partition(b"\n")[0]))
    if "\0" in text:
        text = text[: text.rfind("\n", 0, text.index("\0")) + 1]
        problem = "this is a binary file (it holds a NUL byte), not text"
        if name := utf16_name(data):
            problem = f"this holds NUL bytes and looks like UTF-16; give --encoding {name}, or convert it to UTF-8"
        error = TreebankError(path, line + text.count("\n"), problem)
    if not offset and "\n" not in text and "\r" in text.rstrip("\r"):
        error = TreebankError(path, line, "lines end with \\r, as on an old Mac; run: tr '\\r' '\\n' < IN > OUT")
        text = ""
    if not offset and not keep_returns:
        text = text.removeprefix("\ufeff")
    if "\r" in text and not keep_returns:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text, error


def _not_utf8(problem: str, line: bytes) -> str:
    """The message for a ``line`` that is not UTF-8."""
    is_utf32 = line[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
    if is_utf32 or line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        name = "utf-32" if is_utf32 else "utf-16"
        return f"{problem}: this looks like {name.upper()}; give --encoding {name}, or convert it to UTF-8"
    if b"\0" in line:
        return f"this is a binary file, not text: {problem}"
    return (
        f"{problem}; if it is in another encoding, convert it to UTF-8, or give --encoding NAME, such as {_ENCODINGS}"
    )
