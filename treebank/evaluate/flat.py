"""The brackets of all sentences of a treebank in flat arrays: numpy counts them, and no loop over sentences.

A bracket has a *key*, one number that is greater in a later sentence, then of a later start, then of an earlier end:
the order of trees, so that there is little to sort. A set of brackets is a sorted array of keys, and what two sets
share is found for all sentences at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np

from treebank.evaluate.align import Spans
from treebank.evaluate.conventions import ScoringConvention


@dataclass(frozen=True, slots=True)
class Brackets:
    """K brackets over S sentences, sentence by sentence; within one as they were given, often in pre-order."""

    lengths: np.ndarray  # (S,) words of each sentence
    sentence: np.ndarray  # (K,) which sentence each bracket is in
    start: np.ndarray  # (K,)
    end: np.ndarray  # (K,)

    @classmethod
    def of(cls, spans: Sequence[Spans], lengths: Sequence[int] | np.ndarray) -> Brackets:
        """The brackets of each sentence, and its number of words."""
        sizes = np.fromiter(map(len, spans), np.int64, len(spans))
        bounds = np.fromiter(chain.from_iterable(chain.from_iterable(spans)), np.int64, 2 * int(sizes.sum()))
        return cls(np.asarray(lengths, np.int64), np.repeat(np.arange(len(spans)), sizes), bounds[::2], bounds[1::2])

    @classmethod
    def of_keys(cls, keys: np.ndarray, lengths: np.ndarray) -> Brackets:
        """The brackets with these sorted keys."""
        base = _base(lengths)
        sentence = np.repeat(np.arange(len(lengths)), by_sentence(keys, lengths))
        start, left = np.divmod(keys - base[sentence], lengths[sentence] + 1)
        return cls(lengths, sentence, start, lengths[sentence] - left)

    @property
    def keys(self) -> np.ndarray:
        """One number for each bracket (K,)."""
        length = self.lengths[self.sentence]
        return _base(self.lengths)[self.sentence] + self.start * (length + 1) + length - self.end

    @property
    def size(self) -> np.ndarray:
        """Words in each bracket (K,)."""
        return self.end - self.start

    @property
    def whole(self) -> np.ndarray:
        """Whether each bracket is over the whole sentence (K,)."""
        return self.size == self.lengths[self.sentence]

    def chosen(self, mask: np.ndarray) -> Brackets:
        """Those whose ``mask`` (K,) is true."""
        return Brackets(self.lengths, self.sentence[mask], self.start[mask], self.end[mask])

    def surviving(self, masks: Sequence[Sequence[bool]]) -> Brackets:
        """The brackets over the words whose mask is true; some may be left over none."""
        flat = np.fromiter(chain.from_iterable(masks), bool, int(self.lengths.sum()))
        if flat.all():
            return self
        before = np.concatenate([[0], np.cumsum(flat)])
        first = np.concatenate([[0], np.cumsum(self.lengths)])
        left = before[first]
        start, end = (before[first[self.sentence] + bound] - left[self.sentence] for bound in (self.start, self.end))
        return Brackets(np.diff(left), self.sentence, start, end)

    def phrases(self) -> np.ndarray:
        """Keys of the brackets over two words or more, each once, the whole sentence always among them."""
        (long,) = np.nonzero(self.lengths > 1)
        roots = Brackets(self.lengths, long, np.zeros_like(long), self.lengths[long])
        return distinct(np.concatenate([self.keys[self.size > 1], roots.keys]))

    def counted(self, convention: ScoringConvention, *, gold: bool) -> np.ndarray:
        """Sorted keys of the brackets that count; each once, unless the convention counts repeats.

        Where only the root node's own bracket is dropped, a prediction has no other one over the whole sentence:
        unary chains there come from words that were deleted.
        """
        shortest = 2 if convention.trivial == "drop" else 1
        counts = self.size >= shortest
        if convention.root == "drop" or (convention.root == "node" and convention.repeats == "once" and not gold):
            counts &= ~self.whole
        elif convention.root == "node":
            (roots,) = np.nonzero(self.whole & counts)
            counts[roots[np.unique(self.sentence[roots], return_index=True)[1]]] = False
        keys = self.keys[counts]
        return distinct(keys) if convention.repeats == "once" else np.sort(keys)


class EachSentence(Sequence[Spans]):
    """Start and end of the brackets of some sentences, looked up when they are asked for."""

    def __init__(self, brackets: Brackets, places: np.ndarray) -> None:
        self.brackets = brackets
        self.first, self.behind = (np.searchsorted(brackets.sentence, places, side) for side in ("left", "right"))

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, index: int) -> Spans: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Spans]: ...

    def __getitem__(self, index: int | slice) -> Spans | Sequence[Spans]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        here = slice(self.first[index], self.behind[index])
        return list(zip(self.brackets.start[here].tolist(), self.brackets.end[here].tolist(), strict=True))


def _base(lengths: np.ndarray) -> np.ndarray:
    """Where the keys of each sentence begin (S + 1,)."""
    return np.concatenate([[0], np.cumsum((lengths + 1) ** 2)])


def distinct(keys: np.ndarray) -> np.ndarray:
    """Each key once, sorted; numpy's own function hashes them first, which takes longer."""
    found = np.sort(keys)
    return found[np.concatenate([[True], found[1:] != found[:-1]])[: len(found)]]


def by_sentence(keys: np.ndarray, lengths: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """How many of the sorted keys each sentence has (S,), or the sum of their weights."""
    counts = np.diff(np.searchsorted(keys, _base(lengths)))
    if weights is None:
        return counts
    return np.bincount(np.repeat(np.arange(len(lengths)), counts), weights, minlength=len(lengths))


def found_in(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Whether each key is one of the sorted keys ``among``."""
    if not len(among):
        return np.zeros(len(keys), bool)
    places = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    return np.asarray(among[places] == keys)


def matched(predicted: np.ndarray, gold: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many of the sorted keys both have in each sentence (S,); a repeated one as often as both repeat it."""
    if not (_repeat(predicted) or _repeat(gold)):
        return by_sentence(predicted[found_in(predicted, gold)], lengths)
    ours, repeats = np.unique(predicted, return_counts=True)
    theirs, others = np.unique(gold, return_counts=True)
    same = found_in(ours, theirs)
    shared = np.minimum(repeats[same], others[np.searchsorted(theirs, ours[same])])
    return by_sentence(ours[same], lengths, shared).astype(np.int64)


def _alone(keys: np.ndarray) -> np.ndarray:
    """Whether each key is certain to be there once: it is next to no equal one, and all keys are sorted."""
    same = keys[1:] == keys[:-1] if (keys[1:] >= keys[:-1]).all() else np.ones(max(len(keys) - 1, 0), bool)
    found = np.ones(len(keys), bool)
    found[1:] &= ~same
    found[:-1] &= ~same
    return found


def _repeat(keys: np.ndarray) -> bool:
    """Whether one of the sorted keys is there more than once."""
    return bool((keys[1:] == keys[:-1]).any())


def compared(predicted: np.ndarray, gold: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many of the sorted keys both have in each sentence, the prediction, and gold (S, 3)."""
    sizes = (by_sentence(keys, lengths) for keys in (predicted, gold))
    return np.stack([matched(predicted, gold, lengths), *sizes], 1)


@dataclass(frozen=True, slots=True)
class Constituents:
    """Brackets with labels: ``label`` (K,) are places in ``names``, which are in the order of first occurrence."""

    brackets: Brackets
    label: np.ndarray
    names: Sequence[str]

    @classmethod
    def of(
        cls,
        spans: Sequence[Spans],
        labels: Sequence[Sequence[str]],
        masks: Sequence[Sequence[bool]],
        *,
        named: Callable[[str], str] = str,
    ) -> Constituents:
        """The brackets of each sentence over the words whose mask is true, and their labels, as ``named`` calls them.

        A bracket that is left without words vanishes.
        """
        plain = {label: named(label) for label in dict.fromkeys(chain.from_iterable(labels))}
        numbers = {name: i for i, name in enumerate(dict.fromkeys(plain.values()))}
        number = {label: numbers[name] for label, name in plain.items()}
        brackets = Brackets.of(spans, [len(mask) for mask in masks]).surviving(masks)
        flat = np.fromiter(map(number.__getitem__, chain.from_iterable(labels)), np.int64, len(brackets.start))
        return cls(brackets, flat, list(numbers)).chosen(brackets.size > 0)

    @property
    def named(self) -> np.ndarray:
        """Whether each has a label that is not empty (K,)."""
        return np.array([bool(name) for name in self.names], bool)[self.label]

    def chosen(self, mask: np.ndarray) -> Constituents:
        """Those whose ``mask`` (K,) is true."""
        return Constituents(self.brackets.chosen(mask), self.label[mask], self.names)

    def phrases(self) -> Constituents:
        """Those over two words or more that have a label; of equal ones with equal labels the first."""
        left = self.chosen((self.brackets.size > 1) & self.named)
        keys = left.brackets.keys
        kept = _alone(keys)
        chains = np.flatnonzero(~kept)
        first = np.unique(keys[chains] * len(self.names) + left.label[chains], return_index=True)[1]
        kept[chains[first]] = True
        return left.chosen(kept)

    def outermost(self) -> tuple[np.ndarray, np.ndarray]:
        """The sorted keys of the phrases and the label of the first bracket of each."""
        phrases = self.chosen(self.brackets.size > 1)
        keys, first = np.unique(phrases.brackets.keys, return_index=True)
        return keys, phrases.label[first]


def totals_of(label: np.ndarray, names: Sequence[str]) -> dict[str, int]:
    """How often each label is there, the most frequent first; of equals the one that occurs first."""
    there, first, counts = np.unique(label, return_index=True, return_counts=True)
    order: Iterable[int] = np.lexsort((first, -counts)).tolist()
    return {names[there[i]]: int(counts[i]) for i in order}
