"""Dependency treebanks in columns: CoNLL-U, CoNLL-X, and the three columns of nltk's sample (``.dp``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from sys import intern

from treebank.base.errors import TreebankError
from treebank.core.annotation import Annotation
from treebank.core.brackets import shorten
from treebank.core.sentence import ROOT, Place, Sentence
from treebank.io.lines import OnBad, open_lines, report

_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")  # the id of a multiword token (1-2) or of an empty node (1.1)
_NUMBER = re.compile(r"[0-9]{1,9}")
_CUT = "the file seems to be cut; copy it again, or if it is whole, end it with a blank line"
BLANK = "\u00a0"  # stands for a blank within a word, which would end it in every other format


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column of a format, counted from 0, holds what; None where there is none."""

    name: str
    count: int
    form: int
    tag: int
    head: int
    number: int | None = None
    coarse: int | None = None  # the tags where those of the column ``tag`` are all ``_``
    relation: int | None = None
    universal: bool = False  # Universal Dependencies: coarse tags are universal, lines with # comments, ids 1-2 and 1.1


CONLLU = Columns("CoNLL-U", 10, form=1, tag=4, head=6, number=0, coarse=3, relation=7, universal=True)
CONLLX = Columns("CoNLL-X", 10, form=1, tag=4, head=6, number=0, coarse=3, relation=7)
DP = Columns(".dp", 3, form=0, tag=1, head=2)


def read_conllu(path: str, *, on_bad: OnBad | None = None, whole: bool = False) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, streamed: syntactic words, XPOS (UPOS where there is none), UPOS, heads, DEPREL.

    Comments, multiword tokens (1-2) and empty nodes (1.1) are left out, but ``whole`` keeps them and all columns as the
    sentence's ``annotation``. A blank in a word becomes U+00A0. If all heads
    are ``_``, there are none. Raises TreebankError for lines that do not make a sentence; with ``on_bad`` such a
    sentence is told to it and left out. Whether the heads make a tree is not asked here.
    """
    return _read(path, CONLLU, on_bad, whole)


def read_conllx(path: str, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of a CoNLL-X file: like CoNLL-U, but without comments and universal tags."""
    return _read(path, CONLLX, on_bad)


def read_dp(path: str, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of a file with three columns: word, tag, and head, counted from 1 (0 is the root)."""
    return _read(path, DP, on_bad)


def _read(path: str, columns: Columns, on_bad: OnBad | None, whole: bool = False) -> Iterator[Sentence]:
    for first, comments, lines, ended in _groups(path, columns.universal):
        if not lines:
            report(TreebankError(path, first, f"after this sentence the file ends with a comment; {_CUT}"), on_bad)
            return
        try:
            sentence = _sentence(path, first, lines, columns)
            if not ended:
                _check_whole(sentence, comments, lines)
        except TreebankError as error:
            report(error, on_bad)
            continue
        if whole:
            kept = Annotation(tuple(comments), tuple(tuple(line.split("\t")) for line in lines))
            sentence = replace(sentence, annotation=kept)
        yield sentence


def _groups(path: str, universal: bool) -> Iterator[tuple[int, list[str], list[str], bool]]:
    """Of each sentence the number of its first row, the comments before it where a format has them, its rows, and
    whether a blank line ends it. Comments at the end of a file that holds sentences come without rows."""
    first, comments, lines = 0, list[str](), list[str]()
    for number, line in open_lines(path):
        if not line.strip(" \t"):
            if lines:
                yield first, comments, lines, True
                comments, lines = [], []
        elif lines:
            lines.append(line)
        elif universal and line[0] == "#":
            comments.append(line)
        else:
            first, lines = number, [line]
    if lines or (comments and first):
        yield first, comments, lines, False


def _check_whole(sentence: Sentence, comments: Sequence[str], lines: Sequence[str]) -> None:
    """Raises TreebankError if the last sentence of a file, with no blank line after it, shows that the file was cut."""
    path, last = sentence.place.path, sentence.place.line + len(lines) - 1
    if sentence.heads and ROOT not in sentence.heads:
        raise TreebankError(path, last, f"the file ends and no word of its last sentence is the root; {_CUT}")
    text = next((line.partition("=")[2] for line in comments if re.match("# *text *=", line)), "")
    wanted, surface = "".join(text.split()), "".join(_surface(lines).split())
    if wanted != surface and wanted.startswith(surface):
        raise TreebankError(path, last, f"the file ends before {shorten(wanted[len(surface) :])} of # text; {_CUT}")


def _surface(lines: Iterable[str]) -> str:
    """The words as written, one after the other: a multiword token in the place of its words."""
    found, covered = list[str](), 0
    for row in (line.split("\t") for line in lines):
        if span := re.fullmatch("([0-9]+)-([0-9]+)", row[0]):
            covered = int(span[2])
        elif not row[0].isdecimal() or int(row[0]) <= covered:
            continue
        found.append(row[1])
    return "".join(found)


def _sentence(path: str, first: int, lines: list[str], columns: Columns) -> Sentence:
    """The sentence of these lines. Raises TreebankError that names the line at fault."""
    rows = [line.split("\t") for line in lines]
    lined: Sequence[int] = range(first, first + len(rows))  # of each row its line
    for line, row in zip(lined, rows, strict=True):
        if len(row) != columns.count:
            raise TreebankError(path, line, _wrong_count(row, columns))
    if columns.universal and not all(row[0].isdecimal() for row in rows):
        kept = [i for i, row in enumerate(rows) if not _NO_WORD.fullmatch(row[0])]
        lined, rows = [lined[i] for i in kept], [rows[i] for i in kept]
        if not rows:
            raise TreebankError(path, first, "this sentence has no word, only multiword tokens or empty nodes")
    cells = list(zip(*rows, strict=True))
    if columns.number is not None:
        _check_count(path, lined, cells[columns.number])
    words = tuple(word.replace(" ", BLANK) for word in cells[columns.form])
    if "" in words:
        raise TreebankError(path, lined[words.index("")], "the word (column FORM) is empty; write _ for an unknown one")
    coarse = () if columns.coarse is None else _known(cells[columns.coarse])
    heads = _heads(path, lined, cells[columns.head])
    if columns.number is None and heads.count(ROOT) > 1:  # without numbers nothing else tells two sentences from one
        second = lined[heads.index(ROOT, heads.index(ROOT) + 1)]
        raise TreebankError(path, second, "a second word without a head; a blank line is missing before it")
    relations = () if columns.relation is None else tuple(map(intern, _known(cells[columns.relation])))
    return Sentence(
        words,
        _known(cells[columns.tag]) or coarse,
        heads=heads,
        universal_tags=coarse if columns.universal else (),
        relations=relations,
        place=Place(path, first),
    )


def _known(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, or none if all are ``_``."""
    return tags if any(tag != "_" for tag in tags) else ()


def _wrong_count(row: list[str], columns: Columns) -> str:
    found = f"found {len(row)} column{'s' if len(row) > 1 else ''} where {columns.name} has {columns.count}"
    if columns.universal and row[0].startswith("#"):
        return f"a comment inside a sentence; a blank line is missing before it: {shorten(' '.join(row))}"
    if len(row) == 1 and " " in row[0]:
        return f"{found}; columns are separated by tabs, not by spaces: {shorten(row[0])}"
    return f"{found}, separated by tabs; a blank line separates sentences: {shorten(' '.join(row))}"


def _check_count(path: str, lined: Sequence[int], ids: Sequence[str]) -> None:
    """Raises unless the ids count up from 1."""
    for expected, (line, found) in enumerate(zip(lined, ids, strict=True), 1):
        if found != str(expected):
            hint = "a blank line is missing before it" if found == "1" else "the words of a sentence count up from 1"
            raise TreebankError(
                path, line, f"the word's number is {shorten(found)} where {expected} was expected; {hint}"
            )


def _heads(path: str, lined: Sequence[int], column: Sequence[str]) -> tuple[int, ...]:
    """The heads, counted from 0, ``ROOT`` for 0; none if all are ``_``."""
    if all(head == "_" for head in column):
        return ()
    heads = []
    for line, head in zip(lined, column, strict=True):
        if not _NUMBER.fullmatch(head):
            raise TreebankError(path, line, f"the head is {shorten(head)}, not a word's number (0 for the root)")
        heads.append(int(head) - 1)
        if heads[-1] >= len(column):
            raise TreebankError(path, line, f"the head is word {head}, but the sentence has {len(column)} words")
    return tuple(heads)
