"""Predictions of any parser: trees with or without labels, spans or distances in JSON lines, or heads in columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.brackets import diagnose, root_offsets, shorten
from treebank.core.tree import Tree
from treebank.io.bracketed import TreeSplitter, parse_bare, parse_trees
from treebank.io.content import first_lines
from treebank.io.formats import BRACKETS, JSON_LINES, TEXT, Format, ReadOptions, detect
from treebank.io.jsonl import EXPECTED, JsonObject, checked_spans, read_objects, tree_of
from treebank.io.lines import open_lines
from treebank.io.read import expand
from treebank.io.source import Source

NumberedLines = Iterator[tuple[int, str]]
_COMMENT = re.compile(r"[ \t]*(?:#|%%)[^ \t]*[ \t]+[^ \t]")  # more than one word, so that the sentence "#" is not one
_JSON_KEY = re.compile(r'"(\w+)"\s*:')
_EMPTY = Tree((), (), (), ())


@dataclass(frozen=True, slots=True)
class PredictedTree:
    """One predicted tree, with the text from which it can be read in a second way.

    ``(a (b c))`` is the word c with the tag b and the label a, or three words. The gold words decide: ``labelled`` is
    correct if its words agree with them, else ``bare``. ``labelled`` may contain empty elements (tag ``-NONE-``) and is
    None if the text cannot be read with labels, such as a word without brackets. A prediction in JSON may have
    ``spans`` and a ``length`` instead of words; then `over` makes the tree. ``text`` is None if it is that of
    ``labelled``, and "" if there is no second way.
    """

    path: str
    line: int
    text: str | None
    labelled: Tree | None
    spans: tuple[tuple[int, int], ...] | None = None
    length: int | None = None

    def over(self, words: Sequence[str]) -> Tree:
        """The tree of ``spans`` over the words of the gold sentence.

        Raises SynparseError if the number of words is not ``length``, a span ends after the last word, or spans cross.
        """
        last = max((end for _, end in self.spans or ()), default=0)
        if len(words) != (len(words) if self.length is None else self.length) or last > len(words):
            problem = f"a span ends at {last}" if self.length is None else f"the length is {self.length}"
            raise SynparseError(f"{self.path}:{self.line}: {problem}, but the gold sentence has {len(words)} words")
        try:
            return Tree.from_spans(words, self.spans or ())
        except ValueError as error:
            raise SynparseError(f"{self.path}:{self.line}: {error}") from None

    @property
    def is_empty(self) -> bool:
        """Whether the tree has no words, as ``(TOP )`` or a blank line, the output of a failed parse."""
        return self.labelled is not None and not self.labelled.words

    @property
    def bare(self) -> Tree:
        """The tree if every token is a word."""
        return parse_bare(str(self.labelled) if self.text is None else self.text)


@dataclass(frozen=True, slots=True)
class PredictedHeads:
    """The predicted heads of one sentence: ``heads[i]`` is the index of word i's head, or ``ROOT``.

    ``relations`` are empty or have one entry per word.
    """

    path: str
    line: int
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...] = ()


def gives_heads(path: str, encoding: str = "") -> bool:
    """Whether a file, or the first file of a folder, contains heads and not trees."""
    source = Source(_files(path)[0], encoding)
    return _structure(source, detect(source)) == "heads"


def _structure(source: Source, detected: Format) -> str:
    """The structure of a file: that of its format, or heads for JSON lines whose first line has heads and no tree."""
    if detected is not JSON_LINES:
        return detected.structure
    lines = first_lines(source.head().decode("utf-8", "replace").removeprefix("\ufeff"))
    keys = set(_JSON_KEY.findall(lines[0])) if lines else set()
    return "heads" if "arcs" in keys and keys.isdisjoint(("spans", "distances")) else detected.structure


def _files(path: str) -> list[str]:
    """The file, or the files of a folder in order."""
    return expand([path], trees=True) if os.path.isdir(path) else [path]


def read_prediction_heads(path: str, *, encoding: str = "") -> list[PredictedHeads]:
    """The predicted heads of a file or folder in CoNLL-U, CoNLL-X, three columns or JSON lines with ``arcs``.

    Empty sentences are left out, because columns cannot have them. Raises TreebankError for a file in another format
    and for a sentence without heads.
    """
    predictions = []
    for source in (Source(file, encoding) for file in _files(path)):
        detected = _format(source, "heads")
        for sentence in detected.read(source, ReadOptions()):
            if not sentence.words:
                continue
            if not sentence.heads:
                missing = 'no "arcs"' if detected is JSON_LINES else "column HEAD is empty"
                raise TreebankError(source.path, sentence.location.line, f"this sentence has no heads ({missing})")
            analysis = (sentence.words, sentence.heads, sentence.relations)
            predictions.append(PredictedHeads(source.path, sentence.location.line, *analysis))
    return predictions


def read_prediction_trees(path: str, *, encoding: str = "") -> Iterator[PredictedTree]:
    """The predicted trees of a file or folder, in order, streamed unless they come from a pipe.

    If every line of a file in brackets contains balanced brackets, a single word or nothing, the file has one
    prediction per line, and a blank line is the empty tree of an empty sentence. Otherwise trees may occupy several
    lines, as in a treebank, and blank lines separate them. A line such as ``# made by parser 1.0`` is a comment. JSON
    lines have ``distances`` or ``spans``; the words may be missing. Raises TreebankError for unbalanced brackets, for
    several words without brackets, for crossing spans and for a file of heads.
    """
    for file in _files(path):
        yield from _read_trees(Source(file, encoding))


def _format(source: Source, structure: str) -> Format:
    """The format of a source that must contain ``trees`` or ``heads``. Raises TreebankError if it does not."""
    detected = detect(source)
    if detected is TEXT and structure == "trees":  # brackets may look like text
        return detected
    if _structure(source, detected) == structure:
        return detected
    raise TreebankError(source.path, 0, f"{structure} were expected, but this file is {detected.name}")


def _read_trees(source: Source) -> Iterator[PredictedTree]:
    detected = _format(source, "trees")
    if detected is JSON_LINES:
        return _read_json(source)
    if detected not in (TEXT, BRACKETS):
        sentences = detected.read(source, ReadOptions())
        return (PredictedTree(*sentence.location, "", sentence.tree) for sentence in sentences)
    buffered = None if os.path.isfile(source.path) else list(open_lines(source))

    def lines() -> NumberedLines:
        return open_lines(source) if buffered is None else iter(buffered)

    is_one_per_line = _is_one_per_line(source.path, lines())
    return (_read_one_per_line if is_one_per_line else _read_over_lines)(source.path, lines())


def _is_one_per_line(path: str, lines: NumberedLines) -> bool:
    """Whether the brackets of every line are balanced, so that the file has one prediction per line.

    Raises TreebankError for an unbalanced line in a file that also has lines of single words and hence is not a
    treebank.
    """
    depth = broken_line = 0
    has_words = False
    message = ""
    for number, line in lines:
        balance = line.count("(") - line.count(")")
        is_outside = not (depth or balance or "(" in line)
        has_words = has_words or bool(is_outside and line.strip(" \t") and not _COMMENT.match(line))
        depth += balance
        if balance and not broken_line:
            broken_line, message = number, diagnose(line).message
    if broken_line and has_words:
        raise TreebankError(path, broken_line, message)
    return not broken_line


def _read_one_per_line(path: str, lines: NumberedLines) -> Iterator[PredictedTree]:
    for number, line in lines:
        text = line.strip(" \t")
        if "(" in text:
            yield from _predictions(path, number, text)
        elif not text:
            yield PredictedTree(path, number, "", _EMPTY)
        elif " " not in text and "\t" not in text:
            yield PredictedTree(path, number, text, None)
        elif not _COMMENT.match(text):
            raise TreebankError(path, number, f"several words without brackets; a tree was expected: {shorten(text)}")


def _read_over_lines(path: str, lines: NumberedLines) -> Iterator[PredictedTree]:
    splitter = TreeSplitter(path)
    for number, line in lines:
        for first, text in splitter.feed(number, line):
            yield from _predictions(path, first, text)
    splitter.close()


def _predictions(path: str, line: int, text: str) -> Iterator[PredictedTree]:
    """The trees of balanced text, usually one."""
    try:
        trees = list(parse_trees(text))
    except ValueError:
        problem = diagnose(text)
        if problem.is_bare:
            with suppress(ValueError):
                parse_bare(text)
                yield PredictedTree(path, line, text, None)
                return
        raise TreebankError(path, line + text.count("\n", 0, problem.offset), problem.message) from None
    if len(trees) == 1:
        tree = trees[0]
        is_complete = text.count("(") == len(tree.words) + len(tree.spans)  # no bracket is left out
        yield PredictedTree(path, line, None if is_complete else text, tree)
        return
    starts = root_offsets(text)
    for tree, start, end in zip(trees, starts, [*starts[1:], len(text)], strict=True):
        yield PredictedTree(path, line + text.count("\n", 0, start), text[start:end].strip(" \t\n"), tree)


def _read_json(source: Source) -> Iterator[PredictedTree]:
    """Trees in JSON lines, with words or without. A blank line is the empty tree."""
    for number, value in read_objects(source, expected=EXPECTED):
        if value is None:
            yield PredictedTree(source.path, number, "", _EMPTY)
            continue
        try:
            yield _of_json(source.path, number, value)
        except (ValueError, SynparseError) as error:
            raise TreebankError(source.path, number, str(error)) from None


def _of_json(path: str, line: int, value: JsonObject) -> PredictedTree:
    """The prediction in one JSON object. Raises ValueError or SynparseError for a malformed object."""
    length, words = value.get("length"), value.get("words")
    if not (length is None or type(length) is int) or (isinstance(words, list) and length not in (None, len(words))):
        raise ValueError('"length" is not the number of words')
    if words is None and "spans" in value:
        return PredictedTree(path, line, "", None, tuple(checked_spans(value, length)), length)
    tree = tree_of(value)
    if words is None:
        return PredictedTree(path, line, "", None, tree.spans, len(tree))
    return PredictedTree(path, line, None, tree)
