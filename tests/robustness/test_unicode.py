"""Random lines of Unicode: as many trees as lines, and the words of each line as its leaves.

``SYNPARSE_FUZZ_LINES`` sets the number of lines (default: 3,000).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import regex

from tests.support.calls import Caller
from treebank.io.predictions import read_prediction_trees

LINES = int(os.environ.get("SYNPARSE_FUZZ_LINES") or 3000)
LONGEST_WORD = 5000

RANGES = [
    *((0x01, 0x08), (0x0E, 0x1F), (0x7F, 0x9F)),  # control characters
    *((0x21, 0x7E), (0x21, 0x7E), (0xA1, 0x24F), (0x370, 0x52F)),  # Latin, Greek, Cyrillic
    *((0x590, 0x77F), (0x900, 0xD7F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3)),
    *((0x300, 0x36F), (0xFE00, 0xFE0F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),  # marks, directions
    *((0x1F300, 0x1FAFF), (0x1F1E6, 0x1F1FF), (0x10000, 0x10FFFF), (0xE000, 0xF8FF), (0x1, 0xD7FF)),
]
ODD_WORDS = (
    "( ) (( )) () )( (X -LRB- -RRB- -lrb- -LRB--LRB- -NONE- [ ] { "
    "\xa0 a\xa0b \u2028 \u2029 a\u2028b \x85 \x0b \x0c \x1c \x1d \x1e \x1f \r a\rb "
    "\ufeff \u200b \u200d \u3000 \u00ad \u0301 e\u0301 \u202eabc\u202c \U0001f469\u200d\U0001f680 "
    "\" `` '' \\ \\n \\u0000 % %% # *x* <s> <eos> <unk> ID (ID /* */ = ; "
    "\u0663\u0664 12,5 3.14 \xbd \u2167 \u0130 \xdf \ufb01 \x7f \x1b[31m \ufffe \uffff nan"
)
ODD = [*ODD_WORDS.split(" "), "(X (W a))"]


def random_word(draw: random.Random) -> str:
    """A random word without space, tab, line feed and NUL."""
    kind = draw.random()
    if kind < 0.3:
        return draw.choice(ODD)
    if kind < 0.5:
        return "".join(draw.choice([*ODD, "a", "b"]) for _ in range(draw.randrange(1, 5)))
    low, high = draw.choice(RANGES)
    length = draw.randrange(1, LONGEST_WORD) if draw.random() < 0.0005 else draw.randrange(1, 10)
    characters = (chr(draw.randint(low, high)) for _ in range(length))
    return (
        "".join(
            character for character in characters if character not in " \t\n" and not "\ud800" <= character <= "\udfff"
        )
        or "x"
    )


def random_lines(count: int, seed: int) -> Iterator[str]:
    """Lines of 0 to about 40 words, separated by various white space."""
    draw = random.Random(seed)
    for _ in range(count):
        words = [random_word(draw) for _ in range(min(40, int(draw.expovariate(0.15))))]
        blanks = [draw.choice([" ", " ", " ", "\t", "  ", " \t "]) for _ in words]
        edge = draw.choice(["", "", "", " ", "\t"])
        line = edge + "".join(word + blank for word, blank in zip(words, blanks, strict=True))
        yield line if draw.random() < 0.3 else line.rstrip(" \t")


def words_of(line: str) -> list[str]:
    """The expected words. A carriage return at the end of a line belongs to the line end."""
    return [word for word in line.removesuffix("\r").replace("\t", " ").split(" ") if word]


def leaves(tree: str) -> list[str]:
    """The words of ``(X (W word) …)``, read independently of synparse. Fails if brackets do not balance."""
    depth, words = 0, []
    for piece in tree.replace("(", " ( ").replace(")", " ) ").split(" "):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
            assert depth >= 0
        elif piece and piece not in ("X", "W"):
            words.append(piece)
    assert depth == 0
    return words


def escaped(words: list[str]) -> list[str]:
    return [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The lines of the test, without the words X and W, which ``leaves`` could not distinguish from labels."""
    return [line if {"X", "W"}.isdisjoint(words_of(line)) else "" for line in random_lines(LINES, seed=2026)]


def test_random_unicode(call: Caller, model: Path, tmp_path: Path, lines: list[str]) -> None:
    text, trees = tmp_path / "in.txt", tmp_path / "trees.txt"
    text.write_bytes("".join(line + "\n" for line in lines).encode())
    call.result("parse", "-m", model, text, "-o", trees)
    written = trees.read_bytes().decode().split("\n")
    assert written.pop() == ""
    assert len(written) == len(lines)
    trees_read = read_prediction_trees(str(trees))
    for line, tree, read in zip(lines, written, trees_read, strict=True):
        words = words_of(line)
        assert leaves(tree) == escaped(words)
        assert list(read.labelled.words if read.labelled else ()) == escaped(words)
        assert str(read.labelled or "") == tree


def test_random_unicode_as_json_and_back(call: Caller, model: Path, tmp_path: Path, lines: list[str]) -> None:
    lines = lines[: LINES // 2]
    text, readings = tmp_path / "in.txt", tmp_path / "d.jsonl"
    text.write_bytes("".join(line + "\n" for line in lines).encode())
    trees = call.result("parse", "-m", model, text)
    call.result("extract", "-m", model, text, "-o", readings)
    records = [json.loads(line) for line in readings.read_bytes().decode().removesuffix("\n").split("\n")]
    assert [record["words"] for record in records] == [words_of(line) for line in lines]
    assert call.result("decode", readings) == trees
    out = call.result("parse", "-m", model, text, "--format", "jsonl")
    assert [json.loads(line)["words"] for line in out.removesuffix("\n").split("\n")] == [
        words_of(line) for line in lines
    ]


def test_random_unicode_as_raw_text(call: Caller, model: Path, tmp_path: Path, lines: list[str]) -> None:
    lines = lines[: LINES // 6]
    text = tmp_path / "in.txt"
    text.write_bytes("".join(line + "\n" for line in lines).encode())
    out = call.result("parse", "-m", model, text, "--tokenizer", "unicode", "--format", "jsonl")
    words = [word for line in out.removesuffix("\n").split("\n") for word in json.loads(line)["words"]]
    # the tokenizer keeps all but white space and invisible characters that follow no letter
    invisible = regex.compile(r"[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+")
    assert invisible.sub("", "".join(words)) == invisible.sub("", "".join("".join(line.split()) for line in lines))
    assert call("parse", "-m", model, text, "--format", "drawing")[0] == 0


def test_random_unicode_to_learn_from(call: Caller, tmp_path: Path, lines: list[str]) -> None:
    from tests.support.calls import TINY

    text = tmp_path / "in.txt"
    text.write_bytes("".join(line + "\n" for line in lines[:300]).encode())
    for recipe in ("raw", "words"):
        settings = ("--set", "train.epochs=1", "--set", f"data.normalization={recipe}")
        call.result("train", text, "-o", tmp_path / recipe, *TINY, *settings)
        call.result("parse", "-m", tmp_path / recipe, text)
        call.result("info", "-m", tmp_path / recipe)
