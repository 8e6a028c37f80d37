"""Trees from the states of another program, and the choice of measure, layer and head without gold trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from induce.decoding import specification
from induce.decoding.distances import unbiased
from induce.decoding.hidden_states import MEASURES
from induce.decoding.priors import AppliedPriors, Evidence, requested_priors
from induce.parsing.reading import Reading
from induce.states.states_file import SentenceStates, StatesFile
from induce.structures import Distances, Impact
from treebank.base.arguments import ignore, nearest
from treebank.base.errors import SynparseError, UnknownNameError

IMPACT = Impact.name
SIMILARITY = "cos"  # the published measure with the wrong sign, which is used only if it is named
MAX_STATE_WORDS = 2_000  # of a sentence whose attention fits into some gigabytes
MAX_IMPACT_WORDS = 100  # of a sentence, of which each pair of words needs a copy
MIN_WORDS = 3  # a shorter sentence has one binary tree only


@dataclass(frozen=True)
class StateSource:
    """A measure of `MEASURES`, or the impact. Layers and heads count from 1, and 0 means that it has none or all."""

    measure: str
    layer: int = 0
    head: int = 0

    def __str__(self) -> str:
        """Options of a model specification: ``distances=hellinger:3,layer=2``."""
        head = f":{self.head}" if self.head else ""
        return f"distances={self.measure}{head}" + (f",layer={self.layer}" if self.layer else "")

    @property
    def array(self) -> str:
        """Name of the array in which it is."""
        return IMPACT if self.measure == IMPACT else "attention" if MEASURES[self.measure].attention else "hidden"

    @property
    def has_heads(self) -> bool:
        """Whether each head has distances of its own."""
        return self.measure != IMPACT and MEASURES[self.measure].has_heads

    @property
    def max_length(self) -> int:
        """Words of the longest sentence from whose states they are computed."""
        return MAX_IMPACT_WORDS if self.measure == IMPACT else MAX_STATE_WORDS

    def row(self, states: SentenceStates) -> Any:
        """Distances of the gaps before each word (N), 0 before the first one, or the impact (N, N)."""
        values = getattr(states, self.array)
        return values if self.measure == IMPACT else self.distances(MEASURES[self.measure](values))

    def distances(self, measured: np.ndarray) -> list[float]:
        """Distances of the gaps before each word (N), from those of all layers and heads."""
        layer = measured[self.layer - 1]
        gaps = layer[self.head - 1] if self.head else layer
        return [0.0, *gaps.tolist()]


def parse_source(text: str, layer: int = 0) -> StateSource:
    """The source that ``text`` names, ``MEASURE`` or ``MEASURE:HEAD``. Raises SynparseError."""
    measure, colon, head = text.partition(":")
    if measure != IMPACT and measure not in MEASURES:
        raise UnknownNameError(f"there are no distances {measure!r}; {nearest(measure, [*MEASURES, IMPACT])}")
    if colon and not re.fullmatch("[1-9][0-9]{0,8}", head):
        raise SynparseError(f"distances {text!r}: heads count from 1, as in hellinger:1")
    source = StateSource(measure, layer, int(head or 0))
    if source.head and not source.has_heads:
        raise SynparseError(f"distances {text!r}: {measure} has no heads; leave out :{head}")
    if measure == IMPACT and layer:
        raise SynparseError(f"distances {text!r}: {IMPACT} has no layers; leave out the layer")
    return source


def candidates(states: SentenceStates, requested: StateSource | None, layer: int = 0) -> list[StateSource]:
    """The sources that ``requested`` or ``layer`` leave open, for the arrays of a sentence.

    If none is requested, these are all measures except `SIMILARITY`, or the impact if there are no other arrays.
    Raises SynparseError if an array, the layer or the head is missing.
    """
    patterns = [requested] if requested else [StateSource(name, layer) for name in MEASURES if name != SIMILARITY]
    available = [pattern for pattern in patterns if getattr(states, pattern.array) is not None]
    if not available and requested:
        problem = f"distances {requested.measure!r} need arrays {requested.array!r}, which the file does not have"
        raise SynparseError(problem)
    if not available and states.impact is None:
        raise SynparseError("the file has no hidden states, no attention and no impact")
    sources = []
    for pattern in available:
        if pattern.measure == IMPACT:
            sources.append(pattern)
            continue
        shape = getattr(states, pattern.array).shape
        layers = numbers(pattern.layer, shape[0], "layer")
        heads = numbers(pattern.head, shape[1], "head") if pattern.has_heads else [0]
        sources += [StateSource(pattern.measure, *pair) for pair in product(layers, heads)]
    return sources or [StateSource(IMPACT)]


def numbers(chosen: int, count: int, noun: str) -> list[int]:
    """The ``chosen`` number, or all from 1 to ``count`` if it is 0. Raises SynparseError if it is too large."""
    if chosen > count:
        raise SynparseError(f"there is no {noun} {chosen}; choose a {noun} from 1 to {count}")
    return [chosen] if chosen else list(range(1, count + 1))


@dataclass(frozen=True)
class Choice:
    """The source that agrees most with the others, and this agreement in percent."""

    source: StateSource
    agreement: float
    candidates: int
    sentences: int

    def __str__(self) -> str:
        """The choice in one line."""
        choice = f"{self.source} agrees most with the others: {self.agreement:.1f} F1 on {self.sentences:,} sentences"
        return f"{choice}, chosen from {self.candidates:,} sets of distances without gold trees"


def choose_source(sentences: Iterable[SentenceStates], sources: Sequence[StateSource]) -> Choice:
    """The source whose binary trees share most brackets with those of sources from other layers.

    The agreement is the mean F1, over sentences with `MIN_WORDS` or more states and over the other sources. Sources of
    the same layer do not count unless there is only one layer, because they agree for that reason. Trees are unbiased:
    a preference for one direction would make all of them alike. On ties the first source wins.
    """
    layers = [source.layer for source in sources]
    groups = np.array(layers if len(set(layers)) > 1 else range(len(sources)))
    others = (groups[:, None] != groups).astype(float)  # (K, K): whether the second source counts for the first one
    total, count = np.zeros(len(sources)), 0
    for states in sentences:
        if len(states.indices) >= MIN_WORDS:
            total += (_overlaps(states, sources) * others).sum(1) / others.sum(1)
            count += 1
    best = int(total.argmax())
    return Choice(sources[best], 100 * float(total[best]) / max(count, 1), len(sources), count)


def _overlaps(states: SentenceStates, sources: Sequence[StateSource]) -> np.ndarray:
    """F1 (K, K) of the brackets of the trees of each two sources, without the full sentence."""
    arrays = {source.measure: getattr(states, source.array) for source in sources}
    measured = {name: MEASURES[name](values) for name, values in arrays.items()}
    columns: dict[tuple[int, int], int] = {}
    length, trees = len(states.indices), []
    for source in sources:
        spans = unbiased(source.distances(measured[source.measure]))
        trees.append([columns.setdefault(span, len(columns)) for span in spans if span != (0, length)])
    brackets = np.zeros((len(sources), len(columns)))
    np.put_along_axis(brackets, np.array(trees), 1, 1)
    return brackets @ brackets.T / (length - 2)


def read_states(
    path: str,
    *,
    distances: str | None = None,
    layer: int = 0,
    decoder: str | None = None,
    priors: str | None = None,
    report: Callable[[str], None] = ignore,
) -> tuple[Iterator[Reading], str]:
    """Readings of the sentences in a file of states, and the name of their decoder.

    ``distances`` is ``MEASURE`` or ``MEASURE:HEAD``. If that, the ``layer`` or the head is left open, the file is read
    twice, and ``report`` is called with the choice. Raises SynparseError if the file or an option is not valid.
    """
    file = StatesFile(path)
    requested = parse_source(distances, layer) if distances else None
    first = next((states for states in file if states.indices), None)
    sources = candidates(first, requested, layer) if first else [requested or StateSource(IMPACT)]
    source = sources[0]
    structure = Impact if source.measure == IMPACT else Distances
    name = specification.fitting_decoder(path, (structure,), decoder or "")
    applied = AppliedPriors(requested_priors(priors, (), (structure,)), right_probability=1.0)
    if len(sources) > 1:
        choice = choose_source(file, sources)
        source = choice.source
        report(str(choice))
    evidence = Evidence((), applied.right_probability)

    def reading(states: SentenceStates) -> Reading:
        row = source.row(states) if states.indices else []
        return Reading(states.words, states.indices, structure, *applied.adjust(row, evidence))

    return map(reading, file), name
