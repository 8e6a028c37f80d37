"""Analyses from files of any format that holds them: brackets, JSON lines, CoNLL-U."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Place
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis
from treebank.io.formats import BRACKETS, JSON_LINES, TEXT, detect, format_by_suffix
from treebank.io.jsonl import read_objects, tree_of, words_and_kept
from treebank.io.predictions import PredictedTree, parse_bare, read_prediction_trees
from treebank.io.read import read_sentences
from treebank.io.streams import STDIN

Analyse = Callable[[dict[str, Any], str], Analysis]  # of a JSON object and the name of a system


def of_json(found: dict[str, Any], name: str) -> Analysis:
    """The tree of an object with ``spans`` or ``distances``. Raises ValueError that says what is wrong with it."""
    tree = tree_of(found)
    values: Any = found.get("distances")
    if not isinstance(values, list):
        return Analysis.of_tree(tree, name)
    words, kept = words_and_kept(found, len(values), "distances")
    return Analysis(name, tuple(words), (), tree, distances=spread(values, kept, len(words)))


def read_analyses(path: str, name: str = "", *, analyse: Analyse = of_json) -> Iterator[tuple[Place, Analysis]]:
    """Every analysis of a file in order, with its place. ``analyse`` reads the objects of JSON lines.

    Raises SynparseError for a file of plain text, and TreebankError with file and line if it cannot be read.
    """
    detected = detect(path)
    if detected is TEXT:
        where = "standard input" if path == STDIN else path
        raise SynparseError(f"{where}: plain text, without trees or heads; name a model with -m to parse it")
    if detected is JSON_LINES:
        yield from _json_lines(path, name, analyse)
    elif detected is BRACKETS and not format_by_suffix(path):
        for predicted in read_prediction_trees(path):
            yield Place(predicted.path, predicted.line), Analysis.of_tree(_labelled(predicted), name)
    else:
        for sentence in read_sentences([path], trees=True):
            yield sentence.place, Analysis.of_sentence(sentence, name)


def _labelled(predicted: PredictedTree) -> Tree:
    return predicted.bare if predicted.labelled is None else predicted.labelled


def fitted(analysis: Analysis, place: Place, words: Sequence[str]) -> Analysis:
    """The analysis if it is one of these words of gold. Brackets without labels are read again as such.

    Raises TreebankError that names the first word that differs.
    """
    if analysis.words == tuple(words):
        return analysis
    if analysis.tree is not None:
        bare = parse_bare(str(analysis.tree))
        if bare.words == tuple(words):
            return Analysis.of_tree(bare, analysis.name)
    pairs = enumerate(zip(analysis.words, words, strict=False), start=1)
    differing = next((f"word {i} is {own!r}, in gold {other!r}" for i, (own, other) in pairs if own != other), "")
    problem = differing or f"{len(analysis.words)} words, in gold {len(words)}"
    raise TreebankError(place.path, place.line, f"not the sentence that gold has here: {problem}")


def _json_lines(path: str, name: str, analyse: Analyse) -> Iterator[tuple[Place, Analysis]]:
    for number, found in read_objects(path):
        try:
            analysis = Analysis(name, ()) if found is None else analyse(found, name)
        except (ValueError, SynparseError) as error:
            raise TreebankError(path, number, str(error)) from None
        yield Place(path, number), analysis


def spread(values: Sequence[float], kept: Sequence[int], count: int) -> tuple[float, ...]:
    """Numbers of the words that a model saw as numbers of all ``count`` words, NaN for the others."""
    found = [math.nan] * count
    for place, value in zip(kept, values, strict=True):
        found[place] = float(value)
    return tuple(found)


def spread_square(rows: Sequence[Sequence[float]], kept: Sequence[int], count: int) -> tuple[tuple[float, ...], ...]:
    """The same for a square of probabilities, 0 for the others."""
    found = [[0.0] * count for _ in range(count)]
    for place, row in zip(kept, rows, strict=True):
        for other, value in zip(kept, row, strict=True):
            found[place][other] = float(value)
    return tuple(map(tuple, found))
