"""``synparse parse`` keeps the number and the words of hostile lines, in constant memory.

Special tokens, brackets, escape sequences, characters of all planes, white space and bytes that are not UTF-8 are piped
into the command, and its output is compared while it runs. $SYNPARSE_LINES is the number of lines (default 20,000).
"""

from __future__ import annotations

import os
import random
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from tests.support.calls import TINY, Caller, start, toy_text

LINES = int(os.environ.get("SYNPARSE_LINES", "20000"))
MARKS = (
    *("<eos>", "<unk>", "<pad>", "<mask>", "</s>", "-LRB-", "-RRB-", "(", ")", "((", "()", "(X", "a(b)c", "-NONE-"),
    *("*T*-1", "0", "#", "##", "%%", "{", "}", '{"words":["a"]}', '"', "'", "\\", "\\n", "_", "|", "1-2", "1.1"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "\x08", "\x7f", "\x85", "\u2028", "\u2029", "\u00a0"),
    *("\u3000", "\u200b", "\u200d", "\u202e", "\u2066", "\x0b", "\x0c", "\x1c", "\x1f", "a\rb", "\ufffd", "\uffff"),
    *("\U0010ffff", "\ue000", "e\u0301\u0302" * 20, "👨‍👩‍👧‍👦", "ﷺ", "İ", "ß", "ﬁ", "١٢٣", "½", "%s", "{0}", "$(id)"),
    *("../..", "--help", "NaN", "1e999", "x" * 300, "the", "dog", "saw", "a", "cat", ".", ",", "The", "12"),
)
PLANES = ((1, 33), (33, 127), (128, 0x250), (0x300, 0x2100), (0x3000, 0xD800), (0xE000, 0xFDD0), (0x10000, 0x110000))
LENGTHS = (0, 1, 1, 2, 2, 3, 4, 6, 9)  # in words
NO_TEXT = (b"\xff", b"a \xc3 b", b"\xed\xa0\x80", b"a\x00b")
LEAF = re.compile(r"\(W ([^ ()]+)\)")
MAX_GROWTH_MB = 40.0


def pool_of_words(draw: random.Random, count: int = 5_000) -> list[str]:
    """Words to draw the lines from."""
    pool = [*MARKS] * 10
    while len(pool) < count:
        low, high = draw.choice(PLANES)
        word = "".join(chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 6)))
        pool.append(re.sub(r"[\n\r\t \0\ufeff]", "", word) or "x")
    return pool


def hostile_lines(count: int) -> Iterator[tuple[bytes, list[str]]]:
    """Lines, and the words of each line (none for invalid text)."""
    draw = random.Random(1)
    pool = pool_of_words(draw)
    for _ in range(count):
        words = draw.choices(pool, k=draw.choice(LENGTHS))
        line = draw.choice((" ", " ", "\t", "  ")).join(words).encode("utf-8")
        if draw.random() < 0.001:
            line, words = draw.choice(NO_TEXT), []
        yield line + b"\n", [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words]


def memory(process: int) -> float:
    """Resident memory of a process in MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def test_hostile_lines_keep_their_number_and_words_in_constant_memory(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(60), encoding="utf-8")
    call.result("train", tmp_path / "text.txt", "-o", tmp_path / "run", *TINY)
    expected: SimpleQueue[list[str]] = SimpleQueue()
    arguments = ("parse", "-m", str(tmp_path / "run"), "--input-format", "text", "--on-error", "blank")
    with open(os.devnull, "wb") as nothing:
        process = start(*arguments, stderr=nothing)

    def write() -> None:
        assert process.stdin
        with process.stdin as stream:
            for line, words in hostile_lines(LINES):
                expected.put(words)
                stream.write(line)

    writer = Thread(target=write)
    writer.start()
    count, megabytes = 0, []
    assert process.stdout
    for line in process.stdout:
        assert LEAF.findall(line.decode("utf-8")) == expected.get()
        count += 1
        if count % (LINES // 10) == 0 and process.poll() is None:
            megabytes.append(memory(process.pid))
    writer.join()
    assert (process.wait(), count) == (0, LINES)
    assert max(megabytes[1:], default=0) - min(megabytes[1:], default=0) < MAX_GROWTH_MB
