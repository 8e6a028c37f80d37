"""Output of a model for one sentence, and its conversion to a tree, to heads and to a line of JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from induce.data.vocabulary import SPACE
from induce.decoding.specification import decoder, decoder_entry, decoders_of
from induce.registry import DECODERS
from induce.structures import Brackets, RankedTrees, Structure
from treebank.core.dependency import Heads, delete, restore, restore_heads
from treebank.core.tree import Tree
from treebank.io.jsonl import words_and_indices

Confidences = tuple[float | None, ...]  # one for each bracket or arc, None where it is not defined
Map = Sequence[tuple[float, float]]  # points with rising scores and confidences that do not fall
ADJUSTED = "with_priors"  # key of the scores after the priors, which the decoder reads
MAX_POINTS = 20
MIN_GROUP = 25  # phrases of each point


class ConfidentTree(NamedTuple):
    """A tree with the confidence in each of its brackets, which is None for the full sentence and single words."""

    tree: Tree
    confidences: Confidences


class ScoredHeads(NamedTuple):
    """Heads of one of the best trees of a sentence with its score, such as an expected number of correct heads."""

    score: float
    heads: Heads


class ScoredTree(NamedTuple):
    """One of the best trees of a sentence with its score, such as a log probability in nats or a sum of scores."""

    score: float
    tree: Tree


def mean_confidence(confidences: Sequence[float | None]) -> float | None:
    """Mean of the confidences that are defined, or None if there are none."""
    values = [value for value in confidences if value is not None]
    return fmean(values) if values else None


def _finite(values: Sequence[float | None]) -> Confidences:
    return tuple(value if value is not None and math.isfinite(value) else None for value in values)


@dataclass(frozen=True, slots=True)
class Reading:
    """Words of a sentence, ``indices`` of the words that the model read, and the row of a structure over them.

    ``row`` is the output of the model. ``adjusted`` is the row after the priors,
    or None if they change nothing. The words of a character model (``token``) are characters, including spaces, which
    are not leaves of its trees.
    """

    words: Sequence[str]
    indices: Sequence[int]
    structure: type[Structure]
    row: Any
    adjusted: Any = None
    token: str = "word"

    @property
    def scores(self) -> Any:
        """Row that the decoder reads: ``adjusted``, or ``row`` if there is none."""
        return self.row if self.adjusted is None else self.adjusted

    @property
    def leaves(self) -> Sequence[str]:
        """Words of the tree."""
        return self.words if self.token == "word" else tuple(word for word in self.words if word != SPACE)

    def _is_leaf(self) -> list[bool]:
        return [self.token == "word" or word != SPACE for word in self.words]

    def confident_tree(
        self,
        spans: Sequence[tuple[Any, ...]],
        min_confidence: float = -math.inf,
        points: Sequence[tuple[float, float]] = (),
    ) -> ConfidentTree:
        """Tree as of ``all_words`` with the confidence of the model in each bracket.

        Phrases with less than ``min_confidence`` are left out, so that their parts join the phrase above. ``points``
        map the support of the model to its confidence (`induce.parsing.reading`).
        """
        phrases = [(start, end) for start, end, *_ in spans if 1 < end - start < len(self.indices)]
        support: dict[tuple[int, int], float] = {}
        if self.structure.supports == "trees" and phrases:
            support = dict(zip(phrases, self.structure.support(self.row, phrases), strict=True))
        if points:
            support = dict(zip(support, confidence_of(points, list(support.values())), strict=True))
        if min_confidence > -math.inf:
            spans = [span for span in spans if support.get(tuple(span[:2]), math.inf) >= min_confidence]
        tree = self.all_words(spans)
        leaf_positions = self._positions([self.token == "word" or self.words[i] != SPACE for i in self.indices])
        values = {}
        for start, end in sorted(support, key=lambda span: span[1] - span[0]):  # of equal brackets, the widest counts
            values[leaf_positions[start], leaf_positions[end]] = support[start, end]
        values.pop((0, leaf_positions[-1]), None)
        read = set(self.indices)
        positions = self._positions([i in read for i, is_leaf in enumerate(self._is_leaf()) if is_leaf])
        aligned = [values.get((positions[start], positions[end])) for start, end in tree.spans]
        return ConfidentTree(tree, _finite(aligned))

    @staticmethod
    def _positions(mask: Sequence[bool]) -> list[int]:
        """Number of true entries before each entry, and their total."""
        return list(accumulate(map(int, mask), initial=0))

    def ranked_trees(self, k_best: Callable[[Any], Sequence[tuple[float, Any]]]) -> list[ScoredTree]:
        """The best trees that ``k_best`` returns for the scores, over all words. A sentence without words has one."""
        ranked = k_best(self.scores) or [(0.0, ())]
        return [ScoredTree(score, self.all_words(spans)) for score, spans in ranked]

    def ranked_heads(self, k_best: Callable[[Any], Sequence[tuple[float, Any]]]) -> list[ScoredHeads]:
        """Heads of the best trees that ``k_best`` returns for the scores, over all words."""
        return [ScoredHeads(score, self.all_heads(heads)) for score, heads in k_best(self.scores) or [(0.0, ())]]

    def all_words(self, spans: Sequence[tuple[Any, ...]]) -> Tree:
        """Tree over all words, given the decoded ``spans`` of the words that the model read."""
        words = self.words if len(self.indices) == len(self.words) else [self.words[index] for index in self.indices]
        tree = tree_of_spans(words, spans)
        tree = tree if words is self.words else restore(tree, self.words, self.indices)
        return tree if self.token == "word" else tree.keep(self._is_leaf()).collapse_unary()

    def all_heads(self, decoded_heads: Heads) -> Heads:
        """Heads of all words, given the decoded heads of the words that the model read."""
        heads = restore_heads(decoded_heads, self.indices, len(self.words))
        return heads if self.token == "word" else delete(heads, self._is_leaf())

    def head_confidences(self, decoded_heads: Heads) -> Confidences:
        """Confidence in the head of each leaf, given the decoded heads. None for words that the model did not read."""
        values: list[float | None] = [None] * len(self.words)
        if self.structure.supports == "heads":
            arcs = list(enumerate(decoded_heads))
            for index, value in zip(self.indices, self.structure.support(self.row, arcs), strict=True):
                values[index] = value
        return _finite([value for value, is_leaf in zip(values, self._is_leaf(), strict=True) if is_leaf])

    def to_json(self, decoder_name: str) -> dict[str, Any]:
        """Line of `synparse extract`, with the decoder if it is not the default of `from_json`."""
        line: dict[str, Any] = {"words": list(self.words)}
        if len(self.indices) < len(self.words):
            line["indices"] = list(self.indices)
        if self.token != "word":
            line["token"] = self.token
        line[self.structure.name] = self.structure.to_json(self.row)
        if self.adjusted is not None:
            line[ADJUSTED] = self.structure.to_json(self.adjusted)
        if decoder_name != decoders_of((self.structure,))[0]:
            line["decoder"] = decoder_name
        return line


def tree_of_spans(words: Sequence[str], spans: Sequence[tuple[Any, ...]]) -> Tree:
    """Tree of ``spans``, each ``(start, end)`` or ``(start, end, label)``, with ``X`` as the default label."""
    tree = Tree.from_spans(words, [span[:2] for span in spans])
    labels = {span[:2]: span[2] for span in spans if len(span) > 2}
    if not labels:
        return tree
    named = tuple(labels.get(tuple(span), label) for span, label in zip(tree.spans, tree.labels, strict=True))
    tags = tuple(labels.get((i, i + 1), tag) for i, tag in enumerate(tree.tags))
    return Tree(tree.words, tags, tree.spans, named)


def from_json(line: Mapping[str, Any], chosen: str | None = None) -> tuple[Reading, str]:
    """Reading in an object written by `Reading.to_json`, and the name of its decoder.

    ``chosen`` is the decoder that the user requested; otherwise it is the one that the line names, or the default for
    the structure of the line. Raises ValueError if the object is invalid and SynparseError if the decoder is unknown.
    """
    structures = dict.fromkeys(entry.reads for entry in DECODERS.values())
    available = tuple(structure for structure in structures if structure.name in line)
    if not available:
        raise ValueError(expected())
    named = chosen or line.get("decoder")
    required = decoder_entry(str(named)).reads if named else available[0]
    structure = required if required in available else available[0]
    name = str(named) if named else decoders_of((structure,))[0]
    if required is not structure:
        fitting = decoders_of((structure,))[0]
        raise ValueError(
            f"decoder {name!r} needs {required.name}, and this line has {structure.name} (try {fitting!r})"
        )
    row = structure.from_json(line[structure.name])
    count = structure.words_of(row)
    if structure in (Brackets, RankedTrees) and isinstance(line.get("words"), list):
        count = len(line.get("indices", line["words"]))
        if structure.words_of(row) > count:
            raise ValueError(f"a span ends at {structure.words_of(row)}, but there are {count} words")
    words, word_indices = words_and_indices(dict(line), count, structure.entries)
    adjusted = structure.from_json(line[ADJUSTED]) if line.get(ADJUSTED) is not None else None
    if adjusted is not None and structure.words_of(adjusted) != structure.words_of(row):
        raise ValueError(f'"{ADJUSTED}" has {len(adjusted)} {structure.entries}, "{structure.name}" has {len(row)}')
    token = "character" if line.get("token") == "character" else "word"
    return Reading(words, word_indices, structure, row, adjusted, token=token), name


def expected() -> str:
    """Description of a valid line for `synparse decode`."""
    structures = dict.fromkeys(entry.reads for entry in DECODERS.values())
    *names, last = (f'"{structure.name}"' for structure in structures)
    return f"expected an object with {', '.join(names)} or {last}, as synparse extract writes them"


def decoded(reading: Reading, name: str) -> Tree | Heads:
    """Tree or heads of ``reading`` by the decoder with this ``name``, over all words."""
    result = decoder(name)(reading.scores)
    return reading.all_words(result) if decoder_entry(name).gives == "trees" else reading.all_heads(result)


def fit_confidence(scores: Sequence[float], agreements: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """The map from scores of phrases to the mean agreement of phrases with similar scores, or no map for few phrases.

    It is an isotonic regression over at most `MAX_POINTS` groups of similar size.

    >>> fit_confidence([0.1] * 25 + [0.9] * 25, [0.0, 0.5] * 12 + [0.0] + [1.0] * 25)
    ((0.1, 0.24), (0.9, 1.0))
    """
    count = min(MAX_POINTS, len(scores) // MIN_GROUP)
    if not count:
        return ()
    values, positions, repeats = np.unique(scores, return_inverse=True, return_counts=True)
    means = np.bincount(positions, agreements) / repeats  # so that the order of phrases with equal scores has no effect
    x = [float(np.mean(group)) for group in np.array_split(np.repeat(values, repeats), count)]
    blocks: list[tuple[float, int]] = []  # mean agreement and number of groups
    for group in np.array_split(np.repeat(means, repeats), count):
        block = (float(np.mean(group)), 1)
        while blocks and blocks[-1][0] >= block[0]:  # pool adjacent violators
            (mean, size), (other, more) = blocks.pop(), block
            block = ((mean * size + other * more) / (size + more), size + more)
        blocks.append(block)
    y = [mean for mean, size in blocks for _ in range(size)]
    return tuple((round(score, 6), round(value, 4)) for score, value in zip(x, y, strict=True))


def confidence_of(points: Map, scores: Sequence[float]) -> list[float]:
    """The confidences in phrases with these scores, NaN for NaN."""
    values = np.interp(scores, [score for score, _ in points], [confidence for _, confidence in points])
    return [float(value) for value in values]
