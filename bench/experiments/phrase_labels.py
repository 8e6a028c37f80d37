"""Induced labels of phrases against gold labels, with gold brackets: docs/results/constituency.md.

``python -m bench.experiments.phrase_labels [--data FOLDER] [--seeds N]`` replaces the labels of CRAFT, the Wall Street
Journal and Keyaki by induced ones and by those of trivial systems, and prints V-measure and many-to-one accuracy.
Neither gold labels nor tags are used. The brackets are those of gold, so that the labels alone are judged.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from bench.common import DATA, spread
from bench.experiments.directions import CORPORA, read_treebank
from bench.report import markdown
from induce.analysis.phrase_labels import LABELS, EdgeClasses, learn_labels
from treebank.core.sentence import Sentence
from treebank.core.tags import bare_label
from treebank.core.tree import Tree
from treebank.evaluate.align import Bracketing
from treebank.evaluate.labels import LabelScores, label_scores

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
    classes = EdgeClasses.of(trees, seed)
    return [[str(edges[0]) for edges in classes.of_spans(tree.words, tree.spans)] for tree in trees]


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


def score(trees: Sequence[Tree], labels: Sequence[Sequence[str]]) -> LabelScores:
    """The scores of ``labels`` of the brackets of each tree."""
    gold = [[(span, bare_label(label)) for span, label in zip(tree.spans, tree.labels, strict=True)] for tree in trees]
    predicted = [Bracketing(len(tree), tree.spans, names) for tree, names in zip(trees, labels, strict=True)]
    scores = label_scores(gold, predicted)
    assert scores is not None
    return scores


def columns(data: Path, name: str, seeds: int) -> dict[str, list[str]]:
    """The cells of one corpus: V-measure and many-to-one accuracy of each system."""
    corpus = CORPORA[name]
    trees = [sentence.tree.without_traces() for sentence in read_treebank(data / corpus.path, corpus.encoding)]
    totals = [number for _, number in score(trees, random_labels(trees, 1)).recall.values()]
    cells = {"one label": ["0.0", f"{100 * max(totals) / sum(totals):.1f}"]}
    start = time.process_time()
    for system, relabel in SYSTEMS.items():
        scores = [score(trees, relabel(trees, seed)) for seed in range(1, seeds + 1)]
        cells[system] = [
            spread([value.v_measure for value in scores]),
            spread([value.many_to_one for value in scores]),
        ]
    print(f"{name}: {len(trees):,} trees, {sum(totals):,} phrases, {time.process_time() - start:.0f} s")
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    parts = [columns(options.data, name, options.seeds) for name in NAMES]
    head = ["labels", *(f"{name} {metric}" for name in NAMES for metric in ("V", "M-1"))]
    print(markdown(head, [[system, *(cell for part in parts for cell in part[system])] for system in parts[0]]))


if __name__ == "__main__":
    main()
