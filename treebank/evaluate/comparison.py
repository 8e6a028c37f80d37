"""Significance of differences between systems, and between families of seeds, on the same gold sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from treebank.base.errors import SynparseError, UsageError
from treebank.base.tables import Interval
from treebank.evaluate.score import Runs, Score, columns, is_baseline, statistic
from treebank.evaluate.statistics import (
    Sample,
    holm,
    paired_interval,
    paired_permutation,
    seed_permutation,
    welch_test,
)

Families = Mapping[str, Sequence[str]]  # name -> the folders of the models that differ in their seeds
_PUBLISHED = re.compile(r"(?P<name>.+)=(?P<mean>\d+(?:\.\d+)?)(?:±|\+/?-)(?P<deviation>\d+(?:\.\d+)?):(?P<count>\d+)")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of ``second`` minus ``first`` in percentage points. The two are systems or families of seeds.

    ``interval`` holds 95 % of the resamples of sentences and seeds. ``by_sentences`` and ``by_seeds`` are p-values of
    permutation tests; ``corrected`` is the greater of them, corrected for the number of comparisons with ``first``.
    What does not apply is None.
    """

    first: str
    second: str
    metric: str
    convention: str
    difference: float
    interval: Interval | None
    by_sentences: float | None
    by_seeds: float | None
    sentences: int
    corrected: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry of this comparison in the output of ``synparse eval --compare --format json``."""
        return {
            "systems": [self.first, self.second],
            "metric": self.metric,
            "convention": self.convention,
            "difference": self.difference,
            "interval": self.interval and list(self.interval),
            "p_sentences": self.by_sentences,
            "p_seeds": self.by_seeds,
            "p_corrected": self.corrected,
            "sentences": self.sentences,
        }


@dataclass(frozen=True, slots=True)
class Published:
    """A published mean of several models, in percent."""

    name: str
    sample: Sample

    @classmethod
    def parse(cls, text: str) -> Published:
        """The score in ``text``, such as ``C-PCFG=55.2±2.1:4``. Raises UsageError for other text."""
        match = _PUBLISHED.fullmatch(text)
        if not match or not int(match["count"]):
            raise UsageError(f"{text!r}: write a published score as NAME=MEAN+-SD:SEEDS, such as C-PCFG=55.2+-2.1:4")
        return cls(match["name"], Sample(float(match["mean"]), float(match["deviation"]), int(match["count"])))


def compare(first: Sequence[Score], second: Sequence[Score], names: tuple[str, str] | None = None) -> Comparison:
    """The difference between two systems or families with the same metric and convention, paired by sentence.

    Each is a list of the scores of its seeds; the counts of a family are averaged over them for the test by sentences.
    Raises SynparseError if the scores were not computed on the same sentences.
    """
    reference = first[0]
    for score in (*first, *second):
        if any(getattr(score, name) != getattr(reference, name) for name in ("metric", "convention", "indices")):
            pair = f"{reference.system} and {score.system}"
            raise SynparseError(f"{pair} were not scored on the same sentences in the same way")
    value = statistic(reference.convention)
    rows = [[columns(score.counts, score.convention) for score in side] for side in (first, second)]
    means = [
        side[0] if len(side) == 1 else [list(map(fmean, zip(*same, strict=True))) for same in zip(*side, strict=True)]
        for side in rows
    ]
    by_sentences = paired_permutation(means[0], means[1], value)
    values = [[score.value for score in side] for side in (first, second)]
    interval = paired_interval(rows[0], rows[1], value)
    return Comparison(
        *(names or (reference.system, second[0].system)),
        reference.metric,
        reference.convention.name,
        fmean(values[1]) - fmean(values[0]),
        interval and (100 * interval[0], 100 * interval[1]),
        by_sentences,
        None if by_sentences is None else seed_permutation(*values),
        len(reference.counts),
    )


def compare_all(scores: Sequence[Score], families: Families | None = None) -> list[Comparison]:
    """Each system or family compared with the first one, for each metric and convention.

    ``families`` maps names to the folders of their models. The models of a family that is alone are compared.
    """
    comparisons = []
    for same in _by_convention(scores):
        groups = list(_members(same, families or {}))
        if len(groups) == 1:
            groups = list(_members(same, {}))
        (name, first), *others = groups
        comparisons += _corrected([compare(first, second, (name, other)) for other, second in others])
    return comparisons


def compare_published(
    scores: Sequence[Score], families: Families, published: Sequence[Published]
) -> Iterator[Comparison]:
    """Each system or family, except baselines, compared with published means of UF1 or UAS."""
    scored = [score for score in scores if score.metric != "UUAS" and not is_baseline(score)]
    for same in _by_convention(scored if published else []):
        comparisons = []
        for name, members in _members(same, families):
            reference, values = members[0], Runs({str(seed): score.value for seed, score in enumerate(members)})
            sample = Sample(values.mean, values.deviation, len(members))
            for each in published:
                interval, p = welch_test(each.sample, sample)
                names, difference = (f"{each.name} (published)", name), sample.mean - each.sample.mean
                comparisons.append(
                    Comparison(
                        *names,
                        reference.metric,
                        reference.convention.name,
                        difference,
                        interval,
                        None,
                        p,
                        len(reference.counts),
                    )
                )
        yield from _corrected(comparisons)


def _by_convention(scores: Sequence[Score]) -> list[list[Score]]:
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, str(score.convention)), []).append(score)
    return list(groups.values())


def _members(scores: Sequence[Score], families: Families) -> Iterator[tuple[str, list[Score]]]:
    """The scores by system or family, in order, where a family has several models."""
    groups: dict[tuple[bool, str], list[Score]] = {}
    for number, score in enumerate(scores):
        names = (name for name, models in families.items() if score.info.model in models and len(models) > 1)
        family = next(names, "")
        groups.setdefault((True, family) if family else (False, str(number)), []).append(score)
    for (is_family, name), members in groups.items():
        yield (name if is_family else members[0].system), members


def _corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with corrected p-values if there are several."""
    tests = [(item.by_sentences, item.by_seeds) for item in comparisons]
    p_values = [max((p for p in pair if p is not None), default=None) for pair in tests]
    known = [p for p in p_values if p is not None]
    if len(known) < 2:
        return list(comparisons)
    corrected = iter(holm(known))
    return [
        item if p is None else replace(item, corrected=next(corrected))
        for item, p in zip(comparisons, p_values, strict=True)
    ]


def check_compared(scores: Sequence[Score], comparisons: Sequence[Comparison]) -> None:
    """Raises SynparseError if there are no ``comparisons`` of the systems with these ``scores``."""
    if not comparisons:
        problem = ": one system has trees and one has heads" * (len({score.info for score in scores}) > 1)
        remedy = "name a second system of the same type, with -m, --baseline or a file"
        raise SynparseError(f"nothing to compare{problem}; {remedy}")
