"""JSON lines, one object per sentence, with words and a tree as syntactic distances or spans, or with raw text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from treebank.base.errors import SynparseError, TreebankError
from treebank.base.metadata import parse_json
from treebank.core.dependency import restore
from treebank.core.distances import spans_from_distances
from treebank.core.sentence import ROOT, Annotation, Location, Sentence
from treebank.core.tree import Tree
from treebank.io.content import PAIR_KEYS
from treebank.io.lines import BAD, OnBad, open_lines, report
from treebank.io.source import AnyPath, Source
from treebank.io.text import split_words
from treebank.tokenize import tokenization

JsonObject = dict[str, Any]
EXPECTED = 'expected an object with "spans" (pairs of numbers) or "distances" (numbers)'
NEVER_IN_WORDS = re.compile("[ \t\n\0\ud800-\udfff]")  # nor in a label


def read_objects(
    path: AnyPath, *, expected: str = "expected an object", on_bad: OnBad | None = None
) -> Iterator[tuple[int, JsonObject | None]]:
    """The JSON object in each line of a file with the number of the line, or None for a blank line.

    ``expected`` is the message for JSON that is not an object. Raises TreebankError with file and line; with
    ``on_bad``, the error is reported to it and the line is skipped.
    """
    source = Source.of(path)
    for number, line in open_lines(source, on_bad=on_bad):
        if BAD in line:
            continue
        if not line.strip(" \t"):
            yield number, None
            continue
        try:
            value = parse_object(line, expected)
        except ValueError as error:
            report(TreebankError(source.path, number, str(error)), on_bad)
        else:
            yield number, value


def parse_object(line: str, expected: str = "expected an object") -> JsonObject:
    """The JSON object in one line. Raises ValueError if the line is not a JSON object."""
    try:
        value = parse_json(line)
    except ValueError as error:
        raise ValueError(f"not a line of JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(expected)
    return value


def read_json(path: AnyPath, *, rule: str = "", on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of JSON lines: a tree from ``distances`` or ``spans``, heads from ``arcs``, words, or raw ``text``.

    Raw text is split at spaces or, with a ``rule`` of `treebank.tokenize`, into sentences and words. A blank line is an
    empty sentence with an empty tree. Raises TreebankError with file and line for a malformed object; with ``on_bad``,
    the error is reported to it and the line is skipped.
    """
    source = Source.of(path)
    for number, value in read_objects(source, on_bad=on_bad):
        position = Location(source.path, number)
        try:
            if value is None:
                yield Sentence((), (), Tree((), (), (), ()), location=position)
            elif "spans" in value or "distances" in value:
                tree = tree_of(value)
                plain, confidences = tree.without_traces(), _confidences(value, tree)
                yield Sentence(plain.words, plain.tags, tree, **_origin(value, position), confidences=confidences)
            elif "arcs" in value:
                yield _with_heads(value, _origin(value, position))
            else:
                yield from _sentences_of(value, position, rule)
        except (ValueError, SynparseError) as error:
            report(TreebankError(source.path, number, str(error)), on_bad)


def _origin(value: JsonObject, location: Location) -> dict[str, Any]:
    """The fields of a sentence for its location, its names as comments of CoNLL-U, and the confidence of a model."""
    confidence = value.get("confidence")
    id_, document = (text if isinstance(text, str) else "" for text in map(value.get, ("id", "document")))
    comments = (f"# newdoc id = {document}",) * bool(document) + (f"# sent_id = {id_}",) * bool(id_)
    return {
        "location": location,
        "document": document,
        "annotation": Annotation(comments, ()) if comments else None,
        "confidence": float(confidence) if isinstance(confidence, int | float) else None,
    }


def _confidences(value: JsonObject, tree: Tree) -> tuple[float | None, ...]:
    """The confidence of each bracket of ``tree``, from those of the ``spans`` of the object, or () without any."""
    if "confidences" not in value or "spans" not in value:
        return ()
    numbers = _numbers_or_null(value, len(value["spans"]), "spans")
    known = {tuple(span): number for span, number in zip(value["spans"], numbers, strict=True)}
    return tuple(known.get(span) for span in tree.spans)


def _with_heads(value: JsonObject, origin: dict[str, Any]) -> Sentence:
    """The sentence of an object with ``words`` and ``arcs``, the head of each word, and any ``relations``, ``tags``
    and ``upos``.

    ``origin`` are other fields.
    """
    words, arcs = _words(value.get("words")), value["arcs"]
    if not isinstance(arcs, list) or any(type(head) is not int or not ROOT <= head < len(words) for head in arcs):
        raise ValueError('"arcs" must be a list of whole numbers, the head of each word, -1 for the root')
    if len(arcs) != len(words):
        raise ValueError(f"{len(arcs)} arcs for {len(words)} words; one per word is needed")
    sure = _numbers_or_null(value, len(arcs), "arcs") if "confidences" in value else ()
    keys = ("relations", "tags", "upos")
    relations, tags, upos = (tuple(_labels(value, key, len(words), "words") or ()) for key in keys)
    fields = {"tags": tags, "universal_tags": upos, "heads": tuple(arcs), "relations": relations, **origin}
    return Sentence(tuple(words), confidences=tuple(sure), **fields)


def _numbers_or_null(value: JsonObject, count: int, unit: str) -> list[float | None]:
    """The ``confidences`` of an object, one per ``unit``. Raises ValueError for another number of them."""
    numbers = value["confidences"]
    if not isinstance(numbers, list) or any(type(number) not in (int, float, type(None)) for number in numbers):
        raise ValueError('"confidences" must be a list of numbers or null')
    if len(numbers) != count:
        raise ValueError(f"{len(numbers)} confidences for {count} {unit}")
    return numbers


def _sentences_of(value: JsonObject, position: Location, rule: str) -> Iterator[Sentence]:
    """The sentences of an object without a tree. Raises ValueError or SynparseError for a malformed object.

    A pair of SNLI or MultiNLI is two sentences, without a ``rule`` in the words of their published parses.
    """
    if "words" in value:
        yield Sentence(tuple(_words(value["words"])), **_origin(value, position))
    elif all(isinstance(value.get(key), str) for key in PAIR_KEYS):
        for key in PAIR_KEYS:
            parse = value.get(f"{key}_binary_parse")
            if rule or not isinstance(parse, str):
                yield from _sentences_of({"text": value[key]}, position, rule)
            else:
                leaves = [word for word in parse.split() if word not in ("(", ")")]
                yield Sentence(tuple(_words(leaves)), location=position)
    elif not isinstance(value.get("text"), str):
        raise ValueError('expected "words" (strings), "spans" (pairs of numbers), "distances" (numbers) or "text"')
    elif not rule:
        yield Sentence(split_words(value["text"].replace("\n", " ")), **_origin(value, position))
    else:
        for surface in tokenization(rule).surfaces(value["text"]):
            words = tuple(surface.text[start:end] for start, end in surface.spans)
            yield Sentence(words, location=position, surface=surface)


def tree_of(value: JsonObject) -> Tree:
    """The tree of one JSON object. Raises ValueError or SynparseError for a malformed object."""
    if "spans" in value:
        return _tree_of_spans(value)
    distances = value.get("distances")
    if not isinstance(distances, list) or any(type(distance) not in (int, float) for distance in distances):
        raise ValueError(EXPECTED)
    if (decoder := value.get("decoder", "unbiased")) != "unbiased":
        raise ValueError(f"these distances ask for the decoder {decoder!r}; `synparse decode` has it")
    words, model_words = words_and_indices(value, len(distances), "distances")
    tree = Tree.from_spans([words[i] for i in model_words], spans_from_distances(distances))
    return restore(tree, words, model_words)


def _tree_of_spans(value: JsonObject) -> Tree:
    if "words" not in value:
        raise ValueError('expected "words", a list of strings, and "spans", a list of pairs')
    words = _words(value["words"])
    spans = checked_spans(value, len(words))
    tree = Tree.from_spans(words, spans)
    labels = _labels(value, "labels", len(spans), "spans")
    tags = _labels(value, "tags", len(words), "words") or tree.tags
    if labels is None:
        return replace(tree, tags=tuple(tags))
    brackets = list(zip(spans, labels, strict=True))
    if len(words) > 1 and (0, len(words)) not in spans:
        brackets.append(((0, len(words)), "X"))
    return Tree.from_brackets(words, tags, brackets)


def checked_spans(value: JsonObject, length: int | None) -> list[tuple[int, int]]:
    """The ``spans`` of an object, over ``length`` words if that is known.

    Raises ValueError for anything but pairs of indices, and for a span outside of the sentence.
    """
    spans = value["spans"]
    if not isinstance(spans, list):
        raise ValueError('expected "words", a list of strings, and "spans", a list of pairs')
    for span in spans:
        if not isinstance(span, list) or [type(end) for end in span] != [int, int]:
            raise ValueError(f"a span is {json.dumps(span)}, not a pair of whole numbers")
        if not 0 <= span[0] < span[1] or (length is not None and span[1] > length):
            count = "" if length is None else f", but there are {length} words, counted from 0"
            raise ValueError(f"a span is {span}{count or '; the first number must be less than the second'}")
    return [(start, end) for start, end in spans]


def words_and_indices(value: JsonObject, count: int, unit: str) -> tuple[list[str], list[int]]:
    """The ``words`` of an object and the ``indices`` of the ``count`` words that the model received.

    Without both, the words are ``w0 w1 …``. Without ``indices``, the model received all words. Raises
    ValueError for malformed lists and if the number of words is not the number of values, called ``unit`` in the
    message.
    """
    words, word_indices = value.get("words"), value.get("indices")
    words = [f"w{i}" for i in range(count)] if words is None and word_indices is None else _words(words)
    indices = list(range(len(words))) if word_indices is None else _indices(word_indices, len(words))
    if len(indices) != count:
        raise ValueError(f"{count} {unit} for {len(indices)} words; one per word is needed")
    return words, indices


def _words(words: Any) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError('"words" must be a list of strings, and "indices" needs it')
    for i, word in enumerate(words, start=1):
        if not word:
            raise ValueError(f"word {i} is empty")
        if bad := NEVER_IN_WORDS.search(word):
            raise ValueError(f"word {i} holds {bad[0]!r}; a word cannot (blank, line end, NUL or half a character)")
    return words


def _indices(indices: Any, count: int) -> list[int]:
    """The list ``indices`` of a sentence of ``count`` words."""
    if not isinstance(indices, list) or any(type(i) is not int for i in indices) or indices != sorted(set(indices)):
        raise ValueError('"indices" must be ascending indices of words')
    if indices and not 0 <= indices[0] <= indices[-1] < count:
        wrong = indices[0] if indices[0] < 0 else indices[-1]
        raise ValueError(f'"indices" names word {wrong}, but there are {count} words, counted from 0')
    return indices


def _labels(value: JsonObject, key: str, count: int, unit: str) -> list[str] | None:
    """The list of ``count`` strings under ``key``, one per ``unit``, or None if the key is missing."""
    labels = value.get(key)
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError(f'"{key}" must be a list of strings')
    if len(labels) != count:
        raise ValueError(f"{len(labels)} {key} for {count} {unit}")
    for label in labels:
        if bad := NEVER_IN_WORDS.search(label):
            raise ValueError(f'"{key}" holds {label!r}, and {bad[0]!r} cannot be part of one')
    return labels
