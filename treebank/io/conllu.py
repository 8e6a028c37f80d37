"""Dependency treebanks in columns: CoNLL-U, CoNLL-X, and the three columns of nltk's sample (``.dp``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from sys import intern

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import ROOT, Annotation, Location, Sentence
from treebank.io.checks import COMMENT_INSIDE, COMMENTS_ALONE, NO_HEAD, OTHER_TEXT, OUTER_SPACE, DamageSigns
from treebank.io.lines import MAX_SENTENCE_CHARACTERS, OnBad, check_size, open_lines, report
from treebank.io.source import AnyPath, Source

_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")  # the id of a multiword token (1-2) or of an empty node (1.1)
_OF_SENTENCE = re.compile(r"#[ \t]*(?:sent_id|text)[ \t]*=")  # comments that belong to one sentence
_BORDER = re.compile(r"# *(newdoc|newpar)\b")
_NUMBER = re.compile(r"[0-9]{1,9}")
MAX_WITHHELD_SHARE = 0.05  # words _ per word; above it, the text was withheld
_TRUNCATED = "the file seems to be cut; copy it again, or if it is whole, end it with a blank line"
BLANK = "\u00a0"  # replaces a space within a word, which would end the word in all other formats


@dataclass(frozen=True, slots=True)
class Columns:
    """Indices of the columns of a format, from 0, or None for columns that the format does not have."""

    name: str
    count: int
    form: int
    tag: int
    head: int
    number: int | None = None
    coarse: int | None = None  # used for the tags if the column ``tag`` contains only ``_``
    relation: int | None = None
    universal: bool = False  # Universal Dependencies: coarse tags are universal, lines with # comments, ids 1-2 and 1.1


CONLLU = Columns("CoNLL-U", 10, form=1, tag=4, head=6, number=0, coarse=3, relation=7, universal=True)
CONLLX = Columns("CoNLL-X", 10, form=1, tag=4, head=6, number=0, coarse=3, relation=7)
DP = Columns(".dp", 3, form=0, tag=1, head=2)


#: number of columns -> format
_OTHER_COLUMNS = {2: "words with tags", 4: "CoNLL-2003", 5: "CoNLL-U Plus", 8: "CoNLL-2008", 14: "CoNLL-2009"}


def read_conllu(
    path: AnyPath, *, on_bad: OnBad | None = None, keep_annotation: bool = False, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, streamed: syntactic words, XPOS (UPOS if there is no XPOS), UPOS, heads, DEPREL.

    Comments, multiword tokens (1-2) and empty nodes (1.1) are left out, unless ``keep_annotation`` stores them and all
    columns as the ``annotation`` of the sentence. A space in a word becomes U+00A0. If any head is ``_``, the
    sentence has no heads. Raises TreebankError for a malformed sentence; with ``on_bad``, the error is reported to it
    and the sentence is skipped. Heads that do not form a tree are accepted. ``notify`` is called at the end with signs
    of damage: spaces at the edge of a word, words that are not those of ``# text``, and a repeated ``sent_id``.
    """
    source = Source.of(path)
    return _read(source, CONLLU, on_bad, keep_annotation, DamageSigns(source.path, notify))


def read_conllx(
    path: AnyPath, *, on_bad: OnBad | None = None, keep_annotation: bool = False, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-X file: like CoNLL-U, but without comments and universal tags."""
    source = Source.of(path)
    return _read(source, CONLLX, on_bad, keep_annotation, DamageSigns(source.path, notify))


def read_dp(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file with three columns: word, tag, and head, counted from 1 (0 is the root)."""
    source = Source.of(path)
    return _read(source, DP, on_bad, False, DamageSigns(source.path, notify))


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of one sentence: the numbers of its rows, its comments, and the rows.

    ``is_ended`` says whether a blank line follows. Comments at the end of a file that contains sentences have no rows.
    """

    numbers: Sequence[int]
    comments: list[str]
    rows: list[str]
    is_ended: bool

    @property
    def first(self) -> int:
        """The number of the first row."""
        return self.numbers[0]

    def annotation(self) -> Annotation:
        """Comments and rows."""
        return Annotation(tuple(self.comments), tuple(tuple(line.split("\t")) for line in self.rows))

    def comment(self, name: str) -> str:
        """The value of the comment ``# name = value``, or ""."""
        return Annotation(tuple(self.comments), ()).comment(name) or ""

    def surface(self) -> str:
        """The words as written, without white space: a multiword token instead of its words."""
        return "".join("".join(token.form for token in self.annotation().tokens()).split())


class DocumentBorders:
    """Comments that begin documents and paragraphs, carried from sentences that are left out to the next one."""

    def __init__(self) -> None:
        self._comments: dict[str, str] = {}  # kind -> line

    def drop(self, comments: Iterable[str]) -> None:
        """Keep the borders in the ``comments`` of a sentence that is left out."""
        for line in comments:
            if border := _BORDER.match(line):
                if border[1] == "newdoc":
                    self._comments.clear()
                self._comments[border[1]] = line

    def restore(self, sentence: Sentence) -> Sentence:
        """The sentence with its document, and after the borders before it that it does not have itself."""
        annotation = sentence.annotation
        if annotation is None:
            return sentence
        present = {border[1] for border in map(_BORDER.match, annotation.comments) if border}
        added = [] if "newdoc" in present else [line for kind, line in self._comments.items() if kind not in present]
        self._comments.clear()
        if added:
            annotation = replace(annotation, comments=(*added, *annotation.comments))
        return replace(sentence, annotation=annotation, document=annotation.comment("newdoc id") or "")


def _read(
    source: Source,
    columns: Columns,
    on_bad: OnBad | None,
    keep_annotation: bool,
    signs: DamageSigns,
) -> Iterator[Sentence]:
    undecoded: list[TreebankError] = []
    borders = DocumentBorders()
    words = unknown = 0
    for block in _blocks(source, columns.universal, on_bad and undecoded.append, signs):
        if not block.rows:
            problem = f"after this sentence the file ends with a comment; {_TRUNCATED}"
            report(TreebankError(source.path, block.first, problem), on_bad)
            return
        try:
            if undecoded:
                raise undecoded[0]
            sentence = _sentence(source.path, block.numbers, block.rows, columns)
            if not block.is_ended:
                _check_complete(sentence, block)
        except TreebankError as error:
            report(error, on_bad)
            undecoded.clear()
            borders.drop(block.comments)
            continue
        if columns.universal:
            _add_signs(signs, sentence, block)
        words, unknown = words + len(sentence.words), unknown + sentence.words.count("_")
        if not sentence.heads and any(row.split("\t")[columns.head] != "_" for row in block.rows if row[0] != "#"):
            signs.add(NO_HEAD, block.first)
        if keep_annotation:
            sentence = borders.restore(replace(sentence, annotation=_annotation(block, columns)))
        yield sentence
    signs.report()
    if unknown > MAX_WITHHELD_SHARE * words:
        share = f"{unknown / words:.0%} of the words are _"
        signs.notify(f"{source.path}: {share}; the text was withheld, get it from the owner of the treebank")


def _annotation(block: _Block, columns: Columns) -> Annotation:
    """The annotation of a sentence as rows of CoNLL-U.

    Those of CoNLL-X lose PHEAD, PDEPREL and the coarse tags, which are not universal; the latter are tags if there are
    no others.
    """
    annotation = block.annotation()
    if columns.universal:
        return annotation
    cells = list(zip(*annotation.rows, strict=True))
    coarse, tags, projective_heads = cells[3], _known(cells[4]) or cells[3], cells[8]
    parts = {"coarse tags": coarse != tags and _known(coarse), "projective heads": _known(projective_heads)}
    rows = tuple((*row[:3], "_", tag, *row[5:8], "_", "_") for row, tag in zip(annotation.rows, tags, strict=True))
    return Annotation((), rows, frozenset(name for name, is_lost in parts.items() if is_lost))


def _blocks(source: Source, has_comments: bool, on_bad: OnBad | None, signs: DamageSigns) -> Iterator[_Block]:
    """The lines of each sentence of a file. Comments inside of a sentence join those before it."""
    first = size = number = 0
    inside: list[int] = []  # comments
    comments: list[str] = []
    rows: list[str] = []

    def block(end: int, *, is_ended: bool) -> _Block:
        numbers: Sequence[int] = range(first, max(end, first + 1))
        return _Block([n for n in numbers if n not in inside] if inside else numbers, comments, rows, is_ended)

    for number, line in open_lines(source, on_bad=on_bad):
        if not line.strip(" \t"):
            if rows:
                yield block(number, is_ended=True)
                comments, rows, inside = [], [], []
            elif any(map(_OF_SENTENCE.match, comments)):
                signs.add(COMMENTS_ALONE, number - len(comments))
                comments = [comment for comment in comments if not _OF_SENTENCE.match(comment)]
        elif has_comments and line[0] == "#" and not (rows and _OF_SENTENCE.match(line)):
            if rows:
                signs.add(COMMENT_INSIDE, number)
                inside.append(number)
            comments.append(line)
        else:
            if not rows:
                first, size = number, 0
            rows.append(line)
            size += len(line)
            if size > MAX_SENTENCE_CHARACTERS:
                check_size(source.path, first, size)
    if rows:
        yield block(number + 1, is_ended=False)
    elif comments and first:
        yield block(first + 1, is_ended=False)


def _check_complete(sentence: Sentence, block: _Block) -> None:
    """Raises TreebankError if the last sentence of a file, without a blank line after it, is evidently truncated."""
    path, last = sentence.location.path, block.numbers[-1]
    if sentence.heads and ROOT not in sentence.heads:
        raise TreebankError(path, last, f"the file ends and no word of its last sentence is the root; {_TRUNCATED}")
    expected = "".join(block.comment("text").split())
    surface = block.surface() if expected else ""
    if expected != surface and expected.startswith(surface):
        rest = shorten(expected[len(surface) :])
        raise TreebankError(path, last, f"the file ends before {rest} of # text; {_TRUNCATED}")


def _add_signs(signs: DamageSigns, sentence: Sentence, block: _Block) -> None:
    """Count spaces at the edges of words, and comments that do not fit the words or repeat an id."""
    joined = "".join(sentence.words)
    if BLANK in joined and any(word[0] == BLANK or word[-1] == BLANK for word in sentence.words):
        signs.add(OUTER_SPACE, block.first)
    name = text = ""
    for line in block.comments:  # in one pass, since this runs for each sentence
        key, _, value = line[1:].partition("=")
        key = key.strip()
        if key == "sent_id":
            name = name or value.strip()
        elif key == "text":
            text = text or "".join(value.split())
        elif line.startswith("# newdoc"):
            signs.begin_document()
    if name:
        signs.add_id(name, block.first)
    is_same = text == joined.replace(BLANK, "")  # unless there are multiword tokens
    if text and not is_same and text != block.surface():
        signs.add(OTHER_TEXT, block.first)


def _sentence(path: str, numbers: Sequence[int], lines: list[str], columns: Columns) -> Sentence:
    """The sentence in the lines with these numbers. Raises TreebankError that names the malformed line."""
    rows = [line.split("\t") for line in lines]
    first = numbers[0]
    for line, row in zip(numbers, rows, strict=True):
        if len(row) != columns.count:
            raise TreebankError(path, line, _wrong_count(row, columns))
    if columns.universal and not all(row[0].isdecimal() for row in rows):
        all_numbers, all_rows = numbers, rows
        words_only = [i for i, row in enumerate(rows) if not _NO_WORD.fullmatch(row[0])]
        numbers, rows = [numbers[i] for i in words_only], [rows[i] for i in words_only]
        if not rows:
            raise TreebankError(path, first, "this sentence has no words, only multiword tokens or empty nodes")
        _check_positions(path, all_numbers, [row[0] for row in all_rows])
    cells = list(zip(*rows, strict=True))
    if columns.number is not None:
        _check_count(path, numbers, cells[columns.number])
    words = tuple(word.replace(" ", BLANK) for word in cells[columns.form])
    if "" in words:
        raise TreebankError(
            path, numbers[words.index("")], "the word (column FORM) is empty; write _ for an unknown one"
        )
    coarse = () if columns.coarse is None else _known(cells[columns.coarse])
    heads = _heads(path, numbers, cells[columns.head])
    if columns.number is None and heads.count(ROOT) > 1:  # the only sign of a missing blank line
        second = numbers[heads.index(ROOT, heads.index(ROOT) + 1)]
        raise TreebankError(path, second, "a second word without a head; a blank line is missing before it")
    relations = () if columns.relation is None else tuple(map(intern, _known(cells[columns.relation])))
    return Sentence(
        words,
        _known(cells[columns.tag]) or coarse,
        heads=heads,
        universal_tags=coarse if columns.universal else (),
        relations=relations,
        location=Location(path, first),
    )


def _known(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, or () if all are ``_``."""
    return tags if any(tag != "_" for tag in tags) else ()


def _wrong_count(row: list[str], columns: Columns) -> str:
    """The message for a row with too few or too many columns."""
    counts = f"found {len(row)} column{'s' if len(row) > 1 else ''} where {columns.name} has {columns.count}"
    if columns.universal and row[0].startswith("#"):
        return f"a comment inside a sentence; a blank line is missing before it: {shorten(' '.join(row))}"
    if row[0].startswith("#begin document"):
        return f"this looks like CoNLL-2012, not {columns.name}; write the ten columns of CoNLL-U first"
    if len(row) == 1 and " " in row[0]:
        return f"{counts}; columns are separated by tabs, not by spaces: {shorten(row[0])}"
    if name := _OTHER_COLUMNS.get(len(row)):
        counts = f"{counts}; is this {name}?"
    return f"{counts}, separated by tabs; a blank line separates sentences: {shorten(' '.join(row))}"


def _check_positions(path: str, numbers: Sequence[int], ids: Sequence[str]) -> None:
    """Raises unless each multiword token (1-2) precedes its words, and each empty node (1.1) follows its word."""
    words = 0
    for line, name in zip(numbers, ids, strict=True):
        words += name.isdecimal()
        if _NO_WORD.fullmatch(name):
            first, last = map(int, re.split("[-.]", name))
            is_range = "-" in name
            if (is_range and not words + 1 == first < last) or (not is_range and first != words):
                position = "before its words" if is_range else "after its word"
                raise TreebankError(path, line, f"the line {shorten(name)} is not {position}; are lines exchanged?")


def _check_count(path: str, numbers: Sequence[int], ids: Sequence[str]) -> None:
    """Raises unless the ids count up from 1."""
    for expected, (line, number) in enumerate(zip(numbers, ids, strict=True), 1):
        if number != str(expected):
            hint = "a blank line is missing before it" if number == "1" else "the words of a sentence count up from 1"
            raise TreebankError(
                path, line, f"the word's number is {shorten(number)} where {expected} was expected; {hint}"
            )


def _heads(path: str, numbers: Sequence[int], column: Sequence[str]) -> tuple[int, ...]:
    """The heads, counted from 0, with ``ROOT`` for the root, or () if any is ``_``."""
    if "_" in column:
        return ()
    heads = []
    for line, head in zip(numbers, column, strict=True):
        if not _NUMBER.fullmatch(head):
            raise TreebankError(path, line, f"the head is {shorten(head)}, not a word's number (0 for the root)")
        heads.append(int(head) - 1)
        if heads[-1] >= len(column):
            raise TreebankError(path, line, f"the head is word {head}, but the sentence has {len(column)} words")
    return tuple(heads)
