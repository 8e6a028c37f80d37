"""Induced labels of phrases against gold labels: docs/results/constituency.md.

``python -m bench.experiments.phrase_labels [--data FOLDER] [--seeds N] [--parse CORPUS=MODEL…]`` replaces the labels of
CRAFT, the Wall Street Journal and Keyaki by induced ones and by those of trivial systems, and prints V-measure and
many-to-one accuracy. Neither gold labels nor tags are used. The brackets are those of gold, so that labels alone are
judged. With ``--parse``, they are those that a model predicts, and brackets that are not in gold are not judged.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from bench.common import experiment, spread
from bench.experiments.directions import CORPORA, read_treebank
from bench.report import markdown
from induce.labels.induced_labels import LABELS, TokenClasses, edge_classes, learn_labels
from induce.parsing.load import load_parser
from treebank.core.sentence import Sentence, bare_label
from treebank.core.tree import Tree
from treebank.evaluate.align import Bracketing
from treebank.evaluate.score import LabelCounts, LabelScores

NAMES = ("CRAFT", "WSJ", "Keyaki")
LENGTHS = (2, 4, 8)  # the last lengths of phrases that have the same label
Scores = tuple[float, float]  # V-measure and many-to-one accuracy
Relabel = Callable[[Sequence[Tree], int], list[Sequence[str]]]  # from trees and a seed to labels of their brackets


def induced(trees: Sequence[Tree], seed: int, *, labels: int = LABELS) -> list[Sequence[str]]:
    """Labels of `learn_labels`."""
    labeler = learn_labels((Sentence(tree.words, (), tree) for tree in trees), labels=labels, seed=seed)
    return [labeler.relabel(tree).labels for tree in trees]


def first_class(trees: Sequence[Tree], seed: int) -> list[Sequence[str]]:
    """The class of the first word of each phrase."""
    classes = TokenClasses.of((tree.words for tree in trees), seed)
    return [[str(edges[0]) for edges in edge_classes(classes, tree.words, tree.spans)] for tree in trees]


def random_labels(trees: Sequence[Tree], seed: int) -> list[Sequence[str]]:
    """Random labels."""
    random = Random(seed)
    return [[str(random.randrange(LABELS)) for _ in tree.spans] for tree in trees]


def lengths(trees: Sequence[Tree], seed: int) -> list[Sequence[str]]:
    """The length of each phrase in words."""
    return [[str(sum(end - start > last for last in LENGTHS)) for start, end in tree.spans] for tree in trees]


SYSTEMS: dict[str, Relabel] = {
    "random labels": random_labels,
    "length (2, 3-4, 5-8, more)": lengths,
    "class of the first word": first_class,
    "induced": induced,
    "induced, 20 labels": lambda trees, seed: induced(trees, seed, labels=20),
}


def score(gold_trees: Sequence[Tree], trees: Sequence[Tree], labels: Sequence[Sequence[str]]) -> LabelScores:
    """The scores of ``labels`` of the brackets of ``trees``."""
    gold = [
        [(span, bare_label(label)) for span, label in zip(tree.spans, tree.labels, strict=True)] for tree in gold_trees
    ]
    counts = LabelCounts()
    for constituents, tree, names in zip(gold, trees, labels, strict=True):
        counts.add_brackets(constituents, Bracketing(len(tree), tree.spans, names))
    scores = counts.scores()
    assert scores is not None
    return scores


def matched_labels(gold: Sequence[Tree], trees: Sequence[Tree]) -> Counter[str]:
    """Gold labels of the spans of two or more words that both trees have. Equal spans count once."""
    counts = Counter[str]()
    for reference, tree in zip(gold, trees, strict=True):
        innermost_first = zip(reversed(reference.spans), reversed(reference.labels), strict=True)
        labels = {span: bare_label(label) for span, label in innermost_first if span[1] - span[0] > 1}
        counts.update(labels[span] for span in set(tree.spans) & labels.keys())
    return counts


def columns(data: Path, name: str, seeds: int, model: str | None) -> dict[str, list[str]]:
    """The cells of one corpus: V-measure and many-to-one accuracy of each system, with the brackets of ``model``."""
    corpus = CORPORA[name]
    gold = [sentence.tree.without_traces() for sentence in read_treebank(data / corpus.path, corpus.encoding)]
    trees = list(load_parser(model).parse([Sentence(tree.words) for tree in gold])) if model else gold
    totals = matched_labels(gold, trees)
    cells = {"one label": ["0.0", f"{100 * max(totals.values()) / totals.total():.1f}"]}
    start = time.process_time()
    for system, relabel in SYSTEMS.items():
        scores = [score(gold, trees, relabel(trees, seed)) for seed in range(1, seeds + 1)]
        cells[system] = [
            spread([value.v_measure for value in scores]),
            spread([value.many_to_one for value in scores]),
        ]
    print(f"{name}: {len(trees):,} trees, {totals.total():,} phrases, {time.process_time() - start:.0f} s")
    return cells


def main() -> None:
    """Print the table."""
    parser = experiment(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parse", action="append", default=[], metavar="CORPUS=MODEL")
    options = parser.parse_args()
    models = dict(choice.split("=", 1) for choice in options.parse)
    names = tuple(models) or NAMES
    parts = [columns(options.data, name, options.seeds, models.get(name)) for name in names]
    head = ["labels", *(f"{name} {metric}" for name in names for metric in ("V", "M-1"))]
    print(markdown(head, [[system, *(cell for part in parts for cell in part[system])] for system in parts[0]]))


if __name__ == "__main__":
    main()
