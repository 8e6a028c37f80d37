"""Words of treebanks by readers of a few lines each, which share no code with the program."""

from __future__ import annotations

import re
from pathlib import Path

MARKS = {"ID", "CODE", "METADATA"}


def conllu_words(path: Path) -> list[list[str]]:
    """The syntactic words of each sentence of a CoNLL-U file."""
    blocks = path.read_text("utf-8").strip("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n") if line[0] != "#"] for block in blocks]
    return [[row[1].replace(" ", "\u00a0") for row in block if row[0].isdigit()] for block in rows]


def is_empty(leaf: str, tag: str) -> bool:
    """Whether a leaf of CorpusSearch is an empty element."""
    return leaf[0] == "*" or (leaf == "0" and tag not in ("NUM", "CD"))


def corpussearch_words(path: Path, *, has_lemmas: bool) -> list[list[str]]:
    """The words of each tree of a CorpusSearch file, without marks, empty elements and lemmas."""
    sentences: list[list[str]] = []
    labels: list[str] = []
    for bracket, token in re.findall(r"(\(?)([^\s()]+|\)|(?<=\()(?=\s*\())", path.read_text("utf-8")):
        if bracket:
            sentences += [] if labels else [[]]
            labels.append(token)
        elif token == ")":
            labels.pop()
        elif token and labels and not MARKS & set(labels) and not is_empty(token, labels[-1]):
            half = (token.count("-") + 1) // 2
            sentences[-1].append(("-".join(token.split("-")[:half]) if has_lemmas and half else token) or token)
    return [words for words in sentences if words]
