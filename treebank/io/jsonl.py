"""JSON lines, one object a sentence: how they are read, and trees from words with syntactic distances or with spans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from treebank.base.errors import SynparseError, TreebankError
from treebank.base.json_text import parse_json
from treebank.core.distances import spans_from_distances
from treebank.core.normalization import restore
from treebank.core.sentence import Place, Sentence
from treebank.core.tree import Tree
from treebank.io.lines import OnBad, open_lines, report
from treebank.io.text import split_words
from treebank.tokenize import tokenization

EXPECTED = 'expected an object with "spans" (pairs of numbers) or "distances" (numbers)'
_NEVER_IN_A_WORD = re.compile("[ \t\n\0\ud800-\udfff]")
_NEVER_IN_A_LABEL = re.compile("[ \t\n\0()\ud800-\udfff]")


def read_objects(
    path: str,
    *,
    expected: str = "expected an object",
    lines: Iterable[tuple[int, str]] | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The JSON object in each line of a file with the line's number; None for a blank line.

    ``expected`` begins the message for JSON that is no object. ``lines`` are those of the file where these were read
    already. Raises TreebankError with file and line; with ``on_bad``, tells it instead and leaves the line out.
    """
    for number, line in open_lines(path) if lines is None else lines:
        if not line.strip(" \t"):
            yield number, None
            continue
        try:
            found = parse_object(line, expected)
        except ValueError as error:
            report(TreebankError(path, number, str(error)), on_bad)
        else:
            yield number, found


def parse_object(line: str, expected: str = "expected an object") -> dict[str, Any]:
    """The JSON object in one line. Raises ValueError where there is none."""
    try:
        found = parse_json(line)
    except ValueError as error:
        raise ValueError(f"not a line of JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(expected)
    return found


def read_json(path: str, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """A sentence for each JSON line: ``words``, and ``distances`` as of `extract` or ``spans`` as of `convert`.

    A blank line is an empty sentence. Raises TreebankError with file and line for what makes no tree; with ``on_bad``
    it is told to that and left out.
    """
    for number, found in read_objects(path, expected=EXPECTED, on_bad=on_bad):
        try:
            tree = tree_of({"words": [], "spans": []} if found is None else found)
        except (ValueError, SynparseError) as error:
            report(TreebankError(path, number, str(error)), on_bad)
        else:
            plain = tree.without_traces()
            yield Sentence(plain.words, plain.tags, tree, place=Place(path, number))


def read_json_text(path: str, *, rule: str = "", on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of JSON lines that need not have trees: their ``words``, or what ``text`` holds.

    ``text`` is split at blanks, or with a ``rule`` of `treebank.tokenize` into sentences and words. An object with
    spans or distances is read as `read_json` does. Raises TreebankError as that does.
    """
    for number, found in read_objects(path, on_bad=on_bad):
        try:
            yield from _sentences_of(found or {"words": []}, Place(path, number), rule)
        except (ValueError, SynparseError) as error:
            report(TreebankError(path, number, str(error)), on_bad)


def _sentences_of(found: dict[str, Any], place: Place, rule: str) -> Iterator[Sentence]:
    """The sentences of one object. Raises ValueError or SynparseError that says what is wrong with it."""
    if "spans" in found or "distances" in found:
        plain = tree_of(found).without_traces()
        yield Sentence(plain.words, plain.tags, tree_of(found), place=place)
    elif "words" in found:
        yield Sentence(tuple(_words(found["words"])), place=place)
    elif not isinstance(found.get("text"), str):
        raise ValueError('expected "words", a list of strings, or "text", a string')
    elif not rule:
        yield Sentence(split_words(found["text"].replace("\n", " ")), place=place)
    else:
        for surface in tokenization(rule).surfaces(found["text"]):
            yield Sentence(tuple(surface.text[start:end] for start, end in surface.spans), place=place, surface=surface)


def tree_of(found: dict[str, Any]) -> Tree:
    """The tree of one JSON object. Raises ValueError or SynparseError that says what is wrong with it."""
    if "spans" in found:
        return _tree_of_spans(found)
    values = found.get("distances")
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise ValueError(EXPECTED)
    if (decoder := found.get("decoder", "unbiased")) != "unbiased":
        raise ValueError(f"these distances ask for the decoder {decoder!r}; `synparse decode` has it")
    words, kept = words_and_kept(found, len(values), "distances")
    tree = Tree.from_spans([words[i] for i in kept], spans_from_distances(values))
    return restore(tree, words, kept)


def _tree_of_spans(found: dict[str, Any]) -> Tree:
    spans = found["spans"]
    if not isinstance(spans, list) or "words" not in found:
        raise ValueError('expected "words", a list of strings, and "spans", a list of pairs')
    words = _words(found["words"])
    for span in spans:
        if not isinstance(span, list) or [type(end) for end in span] != [int, int]:
            raise ValueError(f"a span is {json.dumps(span)}, not a pair of whole numbers")
        if not 0 <= span[0] < span[1] <= len(words):
            raise ValueError(f"a span is {span}, but there are {len(words)} words, counted from 0")
    tree = Tree.from_spans(words, map(tuple, spans))
    labels = _labels(found, "labels", len(spans), "spans")
    tags = _labels(found, "tags", len(words), "words") or tree.tags
    if labels is None:
        return replace(tree, tags=tuple(tags))
    brackets = [((span[0], span[1]), label) for span, label in zip(spans, labels, strict=True)]
    if len(words) > 1 and [0, len(words)] not in spans:
        brackets.append(((0, len(words)), "X"))
    brackets.sort(key=lambda bracket: (bracket[0][0], -bracket[0][1]))
    return Tree(tree.words, tuple(tags), tuple(span for span, _ in brackets), tuple(label for _, label in brackets))


def words_and_kept(found: dict[str, Any], count: int, of: str) -> tuple[list[str], list[int]]:
    """``words`` of a JSON object, and ``kept``: the indices of those that a model saw, ``count`` of them.

    Without both, words are called ``w0 w1 …``; without ``kept`` it saw all. Raises ValueError where something is wrong
    or the numbers do not fit; ``of`` is what there are ``count`` of.
    """
    given, kept = found.get("words"), found.get("kept")
    words = [f"w{i}" for i in range(count)] if given is None and kept is None else _words(given)
    kept = list(range(len(words))) if kept is None else _kept(kept, len(words))
    if len(kept) != count:
        raise ValueError(f"{count} {of} for {len(kept)} words; one per word is needed")
    return words, kept


def _words(words: Any) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError('"words" must be a list of strings, and "kept" needs it')
    for i, word in enumerate(words, start=1):
        if not word:
            raise ValueError(f"word {i} is empty")
        if bad := _NEVER_IN_A_WORD.search(word):
            raise ValueError(f"word {i} holds {bad[0]!r}; a word cannot (blank, line end, NUL or half a character)")
    return words


def _kept(kept: Any, count: int) -> list[int]:
    if not isinstance(kept, list) or any(type(i) is not int for i in kept) or kept != sorted(set(kept)):
        raise ValueError('"kept" must be ascending indices of words')
    if kept and not 0 <= kept[0] <= kept[-1] < count:
        wrong = kept[0] if kept[0] < 0 else kept[-1]
        raise ValueError(f'"kept" names word {wrong}, but there are {count} words, counted from 0')
    return kept


def _labels(found: dict[str, Any], key: str, count: int, of: str) -> list[str] | None:
    """The list of strings under ``key``, ``count`` of them; None if there is none."""
    values = found.get(key)
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f'"{key}" must be a list of strings')
    if len(values) != count:
        raise ValueError(f"{len(values)} {key} for {count} {of}")
    for value in values:
        if bad := _NEVER_IN_A_LABEL.search(value):
            raise ValueError(f'"{key}" holds {value!r}, and {bad[0]!r} cannot be part of one')
    return values
