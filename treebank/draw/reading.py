"""Analyses from files in brackets, JSON lines or CoNLL-U."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Location
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis
from treebank.io.formats import BRACKETS, JSON_LINES, TEXT, format_by_suffix
from treebank.io.jsonl import read_objects, tree_of, words_and_indices
from treebank.io.predictions import PredictedTree, parse_bare, read_prediction_trees
from treebank.io.read import DEFAULT_INPUT, InputOptions, input_format, read_sentences
from treebank.io.source import Source
from treebank.io.streams import STDIN

Analyse = Callable[[dict[str, Any], str], Analysis]  # of a JSON object and the name of a system


def of_json(value: dict[str, Any], name: str) -> Analysis:
    """The tree of an object with ``spans`` or ``distances``. Raises ValueError if it is malformed."""
    tree = tree_of(value)
    values: Any = value.get("distances")
    if not isinstance(values, list):
        return Analysis.of_tree(tree, name)
    words, indices = words_and_indices(value, len(values), "distances")
    return Analysis(name, tuple(words), (), tree, distances=spread(values, indices, len(words)))


def read_analyses(
    path: str, name: str = "", *, analyse: Analyse = of_json, input_options: InputOptions = DEFAULT_INPUT
) -> Iterator[tuple[Location, Analysis]]:
    """Every analysis of a file in order, with its location. ``analyse`` reads the objects of JSON lines.

    Raises SynparseError for a file of plain text, and TreebankError with file and line if it cannot be read.
    """
    form = input_format(path, input_options)
    if form is TEXT:
        where = "standard input" if path == STDIN else path
        remedy = "leave it out, since models (-m) parse the sentences of --gold"
        raise SynparseError(f"{where}: plain text, without trees or heads to compare with gold; {remedy}")
    if form is JSON_LINES:
        yield from _json_lines(Source(path, input_options.encoding), name, analyse)
    elif form is BRACKETS and not format_by_suffix(path):
        for predicted in read_prediction_trees(path, encoding=input_options.encoding):
            yield Location(predicted.path, predicted.line), Analysis.of_tree(_labelled(predicted), name)
    else:
        for sentence in read_sentences([path], trees=True, input_options=input_options):
            yield sentence.location, Analysis.of_sentence(sentence, name)


def _labelled(predicted: PredictedTree) -> Tree:
    return predicted.bare if predicted.labelled is None else predicted.labelled


def fitted(analysis: Analysis, location: Location, words: Sequence[str]) -> Analysis:
    """The analysis over the words of gold. Brackets are read again without labels if that makes the words agree.

    Raises TreebankError that names the first word that differs.
    """
    if analysis.words == tuple(words):
        return analysis
    if analysis.tree is not None:
        bare = parse_bare(str(analysis.tree))
        if bare.words == tuple(words):
            return Analysis.of_tree(bare, analysis.name)
    pairs = enumerate(zip(analysis.words, words, strict=False), start=1)
    differing = next((f"word {i} is {word!r}, in gold {other!r}" for i, (word, other) in pairs if word != other), "")
    problem = differing or f"{len(analysis.words)} words, in gold {len(words)}"
    raise TreebankError(location.path, location.line, f"not the sentence that gold has here: {problem}")


def _json_lines(source: Source, name: str, analyse: Analyse) -> Iterator[tuple[Location, Analysis]]:
    for number, value in read_objects(source):
        try:
            analysis = Analysis(name, ()) if value is None else analyse(value, name)
        except (ValueError, SynparseError) as error:
            raise TreebankError(source.path, number, str(error)) from None
        yield Location(source.path, number), analysis


def spread(values: Sequence[float], indices: Sequence[int], count: int) -> tuple[float, ...]:
    """The values of the words with ``indices`` as values of all ``count`` words, NaN for the others."""
    spread_values = [math.nan] * count
    for i, value in zip(indices, values, strict=True):
        spread_values[i] = float(value)
    return tuple(spread_values)


def spread_square(rows: Sequence[Sequence[float]], indices: Sequence[int], count: int) -> tuple[tuple[float, ...], ...]:
    """A square of probabilities over all ``count`` words, 0 for words that the model did not receive."""
    spread_values = [[0.0] * count for _ in range(count)]
    for i, row in zip(indices, rows, strict=True):
        for other, value in zip(indices, row, strict=True):
            spread_values[i][other] = float(value)
    return tuple(map(tuple, spread_values))
