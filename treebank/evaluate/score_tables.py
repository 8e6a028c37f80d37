"""The tables of an evaluation, and the significance of differences between systems or families of seeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from treebank.base.errors import SynparseError, UsageError
from treebank.base.tables import Cell, Column, Interval, Table, percent
from treebank.core.sentence import PENN_RULES, Treebank, count_other_tags, has_penn_tags
from treebank.evaluate.conventions import Convention
from treebank.evaluate.score import HeadScore, LabelScores, Runs, Score, TreeScore, columns, is_baseline, statistic
from treebank.evaluate.statistics import (
    MIN_SENTENCES,
    Sample,
    holm,
    paired_interval,
    paired_permutation,
    seed_permutation,
    welch_test,
)
from treebank.evaluate.systems import WordScore
from treebank.evaluate.uas import ROOT_WORD

MAX_LABELS = 8  # columns of a table by label; the JSON output has all labels
MAX_ARCS = 20  # rows of a table by relation or distance
NAMES = (Column("System"), Column("Convention"))
SIGNATURE = Column("Signature", wide=True)
WELCH = "p (seeds): Welch's test for published means, in which one model has the deviation of the others"
NO_SEEDS = "no p (seeds): one model on either side, so the difference is one of these models, not of their methods"
BEST = "bold or *: the best under its convention, without baselines"


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and deviation of a metric over the models that a pattern such as ``runs/seed-*`` names, by folder."""

    pattern: str
    metric: str
    convention: Convention
    runs: Runs
    signature: str = ""

    def to_json(self) -> dict[str, Any]:
        """The entry of this group in the output of ``synparse eval --format json``."""
        names = {"systems": self.pattern, "metric": self.metric, "convention": self.convention.name}
        return {**names, **self.runs.to_json(), "signature": self.signature}


def family_signature(scores: Sequence[Score]) -> str:
    """Signature of the mean of ``scores``: the parts that all of them have, and the number of models."""
    parts = [score.signature.split("|") for score in scores]
    return "|".join([*(part for part in parts[0] if all(part in other for other in parts)), f"models:{len(scores)}"])


def evaluation_tables(
    trees: Sequence[TreeScore],
    heads: Sequence[HeadScore],
    words: Sequence[WordScore],
    comparisons: Sequence[Comparison],
    spreads: Sequence[Spread],
    by: Sequence[str],
    *,
    gold: Treebank,
) -> list[Table]:
    """All tables of an evaluation on the treebank ``gold``, the scores first."""
    tables = [tree_table(trees)] if trees else []
    tables += [head_table(heads)] if heads else []
    tables += [spread_table(spreads)] if spreads else []
    tables += [word_table(words)] if words else []
    tables += label_tables(trees)
    for detail in by:
        tables += detail_tables(detail, trees, heads)
    tables += [comparison_table(comparisons)] if comparisons else []
    return [tables[0]._replace(footnotes=(*tables[0].footnotes, *_notes([*trees, *heads], gold))), *tables[1:]]


def tree_table(scores: Sequence[TreeScore]) -> Table:
    """Table of UF1 with 95 % interval, precision and recall in percent, one row per system and convention.

    It also has the mean depth and the right-to-left ratio of the trees.
    """
    columns = [*NAMES, *_percentages("UF1", "95 % int.", "P", "R"), Column("Sent.")]
    rows: list[list[Cell]] = [
        [
            *_names(score),
            *(score.value, score.interval, score.precision, score.recall, len(score.counts)),
            *(score.shape.depth, score.shape.right_left, score.signature),
        ]
        for score in scores
    ]
    best = frozenset((row, 2) for row in _best(scores))
    legend = (
        "UF1, precision (P) and recall (R) of brackets in percent; interval: over sentences",
        "Depth: brackets around a word; R/L: above 1 is right-branching",
    )
    columns += [Column("Depth", ".2f"), Column("R/L", ".2f"), SIGNATURE]
    return Table("", columns, rows, legend + (BEST,) * bool(best), best, _baselines(scores))


def head_table(scores: Sequence[HeadScore]) -> Table:
    """Table of UAS and UUAS in percent with 95 % intervals, one row per system and convention.

    ``scores`` must contain both metrics for each system, in the same order.
    """
    directed = [score for score in scores if score.metric == "UAS"]
    undirected = [score for score in scores if score.metric == "UUAS"]
    columns = [
        *(*NAMES, *_percentages("UAS", "UAS 95 % int.", "UUAS", "UUAS 95 % int.")),
        *(Column("Tokens"), Column("Sent."), SIGNATURE),
    ]
    rows: list[list[Cell]] = [
        [
            *(*_names(uas), uas.value, uas.interval, uuas.value, uuas.interval),
            *(uas.totals.gold, len(uas.counts), uas.signature),
        ]
        for uas, uuas in zip(directed, undirected, strict=True)
    ]
    best = frozenset([*((row, 2) for row in _best(directed)), *((row, 4) for row in _best(undirected))])
    legend = ("UAS: correct heads in percent; UUAS: arcs in either direction; interval: over sentences",)
    return Table("", columns, rows, legend + (BEST,) * bool(best), best, _baselines(directed))


def spread_table(spreads: Sequence[Spread]) -> Table:
    """Table of mean, standard deviation and maximum over the models of a pattern, in percent."""
    columns = [
        Column("Models"),
        Column("Convention"),
        Column("Metric"),
        *_percentages("Mean", "SD", "Max."),
        *(Column("n"), SIGNATURE),
    ]
    rows: list[list[Cell]] = [
        [
            *(spread.pattern, spread.convention.label, spread.metric),
            *(spread.runs.mean, spread.runs.deviation, spread.runs.maximum, len(spread.runs.values)),
            spread.signature,
        ]
        for spread in spreads
    ]
    signatures = [f"{spread.signature} = {spread.runs.mean:.1f}" for spread in spreads]
    return Table("Mean over models", columns, rows, ("SD: standard deviation over the models", *signatures))


def word_table(scores: Sequence[WordScore]) -> Table:
    """Table of the word segmentation of trees over characters: F1, precision and recall in percent."""
    rows: list[list[Cell]] = [
        [score.info.name, score.value, score.precision, score.recall, score.in_brackets] for score in scores
    ]
    columns = [Column("System"), *_percentages("Word F1", "Precision", "Recall", "In brackets")]
    legend = ("In brackets: words of several characters that are a bracket or a leaf, in percent",)
    return Table("Words that are leaves, in percent", columns, rows, legend)


def label_tables(scores: Sequence[TreeScore]) -> Iterator[Table]:
    """Tables of recall by gold label and, if the predictions have labels, of V-measure and many-to-one accuracy.

    They depend on the words and sentences that a convention counts. Conventions with the same ones share a table.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[TreeScore]] = {}
    for score in scores:
        groups.setdefault((score.convention.tokens, tuple(score.indices)), []).append(score)
    for group in groups.values():
        conventions = ", ".join(dict.fromkeys(score.convention.label for score in group))
        names = f" ({conventions})" if len(groups) > 1 else ""
        labels = list(group[0].by_label)[:MAX_LABELS]
        if labels:
            systems = list({score.system: score for score in reversed(group)}.values())[::-1]
            rows: list[list[Cell]] = [[score.system, *_cells(score.by_label, labels)] for score in systems]
            rows.append(["(number)", *(group[0].by_label[label][1] for label in labels)])
            title = f"Recall of constituents by label, in percent{names}"
            yield Table(title, [Column("System"), *_percentages(*labels)], rows)
            title = f"Labels of matched constituents and recall by gold label, in percent{names}"
            yield from _induced_table(title, {score.system: score.labels for score in systems}, labels)


def _induced_table(title: str, systems: Mapping[str, LabelScores | None], labels: Sequence[str]) -> Iterator[Table]:
    """The table of V-measure and many-to-one accuracy of systems with labels. There is none without such systems."""
    rows: list[list[Cell]] = []
    for name, scores in systems.items():
        if scores:
            values = (scores.v_measure, scores.homogeneity, scores.completeness, scores.many_to_one)
            rows.append([name, *values, *_cells(scores.recall, labels)])
    legend = (
        "V-measure is the mean of homogeneity and completeness; each label means its most frequent gold label (M-1)",
    )
    columns = [Column("System"), *_percentages("V", "Hom.", "Compl.", "M-1", *labels)]
    if rows:
        yield Table(title, columns, rows, legend)


def detail_tables(detail: str, trees: Sequence[TreeScore], heads: Sequence[HeadScore]) -> Iterator[Table]:
    """The tables by length, height, relation or distance. There is none if no score has this detail."""
    if detail == "length":
        scores: Sequence[Score] = [*trees, *heads]
        for metric in dict.fromkeys(score.metric for score in scores):
            yield _length_table(metric, [score for score in scores if score.metric == metric])
    elif detail == "height":
        heights = sorted({height for score in trees for height in score.by_height or ()})
        rows = [[*_names(score), *_cells(score.by_height or {}, heights)] for score in trees if score.by_height]
        title = "Precision of predicted constituents by height, in percent"
        legend = ("Two words have height 2; the full sentence is left out",)
        if rows:
            yield Table(title, [*NAMES, *_percentages(*map(str, heights))], rows, legend)
    else:
        for convention in dict.fromkeys(score.convention.name for score in heads):
            same = [score for score in heads if score.convention.name == convention]
            yield from _arc_table(detail, same)
            if detail == "relation" and same[0].by_relation:
                title = f"Relations of correct arcs and recall by gold relation, in percent ({convention})"
                systems = {score.system: score.relations for score in same if score.metric == "UAS"}
                labels = [relation for relation in same[0].by_relation if relation != ROOT_WORD]
                yield from _induced_table(title, systems, labels[:MAX_LABELS])


def _length_table(metric: str, scores: Sequence[Score]) -> Table:
    groups = sorted({key for score in scores for key in score.by_length or ()}, key=lambda key: int(key.split("-")[0]))
    rows: list[list[Cell]] = []
    for score in scores:
        values = score.by_length or {}
        rows.append([*_names(score), *(values[group][1] if group in values else None for group in groups)])
    for convention, score in {score.convention: score for score in scores}.items():
        sizes = score.by_length or {}
        rows.append(["(sentences)", convention.label, *(sizes[key][0] if key in sizes else 0 for key in groups)])
    return Table(f"{metric} by sentence length in words", [*NAMES, *_percentages(*groups)], rows)


def _arc_table(detail: str, scores: Sequence[HeadScore]) -> Iterator[Table]:
    recalls = [score.by_relation if detail == "relation" else score.by_distance for score in scores]
    if not recalls or not recalls[0]:
        return
    keys = list(recalls[0])[:MAX_ARCS]
    names = [f"{score.system} {score.metric}" for score in scores]
    rows: list[list[Cell]] = [
        [key, recalls[0][key][1], *(percent(*recall[key]) for recall in recalls if recall)] for key in keys
    ]
    kind = "relation" if detail == "relation" else "distance of the head from the word, in words"
    title = f"Recall of gold arcs by {kind}, in percent ({scores[0].convention.name})"
    yield Table(title, [Column(detail.capitalize()), Column("Arcs"), *_percentages(*names)], rows)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Differences from the first system, or from published scores, with intervals and p-values."""
    columns = [
        *(Column("System"), Column("Convention"), Column("Metric"), Column("Diff.", "+.1f")),
        *(Column("95 % int.", "+.1f"), Column("p (sent.)", ".4f"), Column("p (seeds)", ".4f")),
        Column("p (Holm)", ".4f"),
    ]
    rows: list[list[Cell]] = [
        [
            *(f"{item.second} - {item.first}", item.convention.label, item.metric, item.difference, item.interval),
            *(item.by_sentences, item.by_seeds, item.corrected),
        ]
        for item in comparisons
    ]
    legend = {
        "p (sent.): permutations of sentences": [item.by_sentences for item in comparisons],
        "p (seeds): permutations of models": [item.by_seeds for item in comparisons if not item.welch],
        WELCH: [item.by_seeds for item in comparisons if item.welch],
        "p (Holm): the greater p, corrected for all rows of a convention and metric": [
            item.corrected for item in comparisons
        ],
    }
    notes = tuple(note for note, values in legend.items() if any(value is not None for value in values))
    if any(item.by_sentences is not None and item.by_seeds is None for item in comparisons):
        notes += (NO_SEEDS,)
    return Table("Difference from the first system, in percentage points", columns, rows, notes)


def _notes(scores: Sequence[Score], gold: Treebank) -> Iterator[str]:
    """The signatures with their values, and a note if some sentences of ``gold`` have no Penn Treebank tags."""
    times = Counter(score.signature for score in scores)
    for signature, score in {score.signature: score for score in scores}.items():
        yield str(score) if times[signature] == 1 else signature
    if any(score.interval is None for score in scores):
        yield f"fewer than {MIN_SENTENCES} sentences: no intervals and no p-values"
    for info in dict.fromkeys(score.info for score in scores if score.info.empty):
        yield f"note: trees without words in {info.name}: {info.empty:,}; each counts as a sentence without brackets"
    rules = {"letters": "letters and digits", "upos": "universal tags"}
    used = [rule for rule in rules if any(score.convention.tokens == rule for score in scores)]
    if used and not has_penn_tags(gold):
        yield (
            f"note: the tags of {gold.name} are not those of the Penn Treebank, so "
            f"{' or '.join(rules[rule] for rule in used)} distinguish words from punctuation "
            f"(tokens:{' or '.join(used)}); published figures use tags"
        )
    by_tags = sorted(PENN_RULES & {score.convention.tokens for score in scores})
    if by_tags and (count := count_other_tags(gold)):
        yield (
            f"note: tags of the Penn Treebank select the words (tokens:{' or '.join(by_tags)}), but some sentences of "
            f"{gold.name} have other tags or none: {count:,} of {len(gold):,}; score these separately"
        )


def _percentages(*names: str) -> list[Column]:
    return [Column(name, ".1f") for name in names]


def _names(score: Score) -> tuple[str, str]:
    return score.system, score.convention.label


def _cells(recall: Mapping[Any, tuple[float, int]], keys: Sequence[Any]) -> list[Cell]:
    return [percent(*recall[key]) if key in recall else None for key in keys]


def _baselines(scores: Sequence[Score]) -> frozenset[int]:
    return frozenset(row for row, score in enumerate(scores) if is_baseline(score))


def _best(scores: Sequence[Score]) -> set[int]:
    """The indices of the highest values of each convention under which several systems compete."""
    best: set[int] = set()
    for convention in dict.fromkeys(score.convention for score in scores):
        rows = [row for row, score in enumerate(scores) if score.convention == convention and not is_baseline(score)]
        if len(rows) > 1:
            highest = max(scores[row].value for row in rows)
            best |= {row for row in rows if scores[row].value == highest}
    return best


Families = Mapping[str, Sequence[str]]  # name -> the sources of the systems that differ in their seeds
_PUBLISHED = re.compile(r"(?P<name>.+)=(?P<mean>\d+(?:\.\d+)?)(?:±|\+/?-)(?P<deviation>\d+(?:\.\d+)?):(?P<count>\d+)")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of ``second`` minus ``first`` in percentage points. The two are systems or families of seeds.

    ``interval`` holds 95 % of the resamples of sentences and seeds. ``by_sentences`` and ``by_seeds`` are p-values of
    permutation tests; ``corrected`` is the greater of them, corrected for the comparisons of the metric and convention.
    What does not apply is None.
    """

    first: str
    second: str
    metric: str
    convention: Convention
    difference: float
    interval: Interval | None
    by_sentences: float | None
    by_seeds: float | None
    sentences: int
    corrected: float | None = None
    welch: bool = False  # by_seeds is the p-value of Welch's test

    def to_json(self) -> dict[str, Any]:
        """The entry of this comparison in the output of ``synparse eval --compare --format json``."""
        return {
            "systems": [self.first, self.second],
            "metric": self.metric,
            "convention": self.convention.name,
            "choices": str(self.convention),
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
        reference.convention,
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
        comparisons += [compare(first, second, (name, other)) for other, second in others]
    return comparisons


def compare_published(
    scores: Sequence[Score], families: Families, published: Sequence[Published]
) -> Iterator[Comparison]:
    """Each system or family, except baselines, compared with published means of UF1 or UAS.

    Raises UsageError if there are several conventions, because a published mean belongs to one, and without a system.
    """
    if not published:
        return
    groups = _by_convention([score for score in scores if score.metric != "UUAS" and not is_baseline(score)])
    if not groups:
        raise UsageError("--published: baselines are not compared with it; name a model or a file")
    if len(groups) > 1:
        kinds = ", ".join(f"{same[0].metric} under {same[0].convention.label}" for same in groups)
        raise UsageError(f"--published: one kind of score can be compared with it, not {kinds}; name one --convention")
    for name, members in _members(groups[0], families):
        reference, values = members[0], Runs({str(seed): score.value for seed, score in enumerate(members)})
        sample = Sample(values.mean, values.deviation, len(members))
        for each in published:
            interval, p = welch_test(each.sample, sample)
            names, difference = (f"{each.name} (published)", name), sample.mean - each.sample.mean
            convention = reference.convention
            yield Comparison(
                *(*names, reference.metric, convention, difference, interval, None, p, len(reference.counts)),
                welch=True,
            )


def _by_convention(scores: Sequence[Score]) -> list[list[Score]]:
    groups: dict[tuple[str, Convention], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, score.convention), []).append(score)
    return list(groups.values())


def _members(scores: Sequence[Score], families: Families) -> Iterator[tuple[str, list[Score]]]:
    """The scores by system or family, in order, where a family has several models."""
    groups: dict[tuple[bool, str], list[Score]] = {}
    for number, score in enumerate(scores):
        names = (name for name, models in families.items() if score.info.source in models and len(models) > 1)
        family = next(names, "")
        groups.setdefault((True, family) if family else (False, str(number)), []).append(score)
    for (is_family, name), members in groups.items():
        yield (name if is_family else members[0].system), members


def corrected_by_convention(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons, with corrected p-values where several have the same metric and convention."""
    result, p_values = list(comparisons), dict[tuple[str, Convention], dict[int, float]]()
    for row, item in enumerate(comparisons):
        if known := [p for p in (item.by_sentences, item.by_seeds) if p is not None]:
            p_values.setdefault((item.metric, item.convention), {})[row] = max(known)
    for group in p_values.values():
        for row, p in zip(group, holm([*group.values()]), strict=True):
            result[row] = replace(result[row], corrected=p if len(group) > 1 else None)
    return result


def check_compared(scores: Sequence[Score], comparisons: Sequence[Comparison]) -> None:
    """Raises SynparseError if there are no ``comparisons`` of the systems with these ``scores``."""
    if not comparisons:
        problem = ": one system has trees and one has heads" * (len({score.info for score in scores}) > 1)
        remedy = "name a second system of the same type, with -m, --baseline or a file"
        raise SynparseError(f"nothing to compare{problem}; {remedy}")
