"""Weights of `segment-edges` for each language, tuned on the others: docs/reference/models/segment-edges.md.

``python -m bench.experiments.edge_weights --data FOLDER --out FOLDER [--only CORPUS…]`` counts the words of each corpus
of `bench.experiments.directions`. For each language, coordinate ascent finds the weights with the best mean UF1 on
`TUNING_SENTENCES` sentences of each treebank of another language. It starts from 0, and from 1 for ``end`` and
``limit``. The table has the UF1 (convention ``on-lstm``) of the left-out treebanks with these weights, next to that of
the default weights.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.common import repeated, synparse
from bench.experiments.directions import CORPORA, corpus_experiment, uf1_of, write_corpus
from bench.report import markdown
from induce.data.batches import batches_by_cost
from induce.data.punctuation import gaps
from induce.decoding.chart import mbr_together
from induce.models.base import Query
from induce.parsing.load import load_model_parser
from induce.structures import SpanScores
from treebank.io.read import read_sentences

TUNING_SENTENCES = 120  # of each treebank
LANGUAGES = {
    **dict.fromkeys(("CRAFT", "WSJ", "GUM", "English"), "English"),
    **{"Keyaki": "Japanese", "Sinica": "Chinese"},
}
START = {"end": 1.0, "begin": 0.0, "length": 0.0, "pair": 0.0, "limit": 1.0, "cohesion": 0.0}
STEPS = {  # of the three passes
    **{"end": (0.4, 0.2, 0.1), "begin": (0.2, 0.1, 0.1)},
    **{"length": (0.3, 0.1, 0.1), "pair": (0.5, 0.25, 0.25), "limit": (0.5, 0.5, 0.25), "cohesion": (0.2, 0.1, 0.1)},
}
MAX_SWEEPS = 3  # over all weights with one size of steps

Weights = dict[str, float]


@dataclass(frozen=True)
class TuningTreebank:
    """A model, its query, and batches of sentences with their gold spans, without the full sentences."""

    model: Any
    query: Query
    batches: Sequence[tuple[Any, Sequence[set[tuple[int, int]]]]]

    @classmethod
    def read(cls, run: Path, gold: Path) -> TuningTreebank:
        """Sentences evenly spread over the file ``gold``, for the model in ``run``."""
        parser, sentences = load_model_parser(str(run)), list(read_sentences([str(gold)]))
        step = max(1.0, len(sentences) / TUNING_SENTENCES)
        encoded, spans = [], []
        for sentence in (sentences[int(k * step)] for k in range(min(len(sentences), TUNING_SENTENCES))):
            words, read = sentence.words, parser.recipe(sentence.words, sentence.tags)
            indices = set(read.indices)
            assert sentence.tree is not None
            tree = sentence.tree.without_traces().keep([index in indices for index in range(len(sentence.words))])
            count = len(read.indices)
            encoded.append((parser.checkpoint.vocabulary.encode(read.forms), gaps(words, read.indices, parser.joining)))
            spans.append({span for span in tree.spans if 1 < span[1] - span[0] < count})
        groups = batches_by_cost([len(ids) for ids, _ in encoded])
        query = Query(SpanScores, right_probability=parser.right_probability)
        return cls(
            parser.model, query, [(parser.batch([encoded[k] for k in g]), [spans[k] for k in g]) for g in groups]
        )

    def uf1(self, weights: Weights) -> float:
        """Mean F1 of the sentences with these weights, in percent."""
        self.model.config = replace(self.model.config, **weights)
        scores = []
        for batch, golds in self.batches:
            trees = mbr_together(self.model.structure(batch, self.query).rows())
            lengths = batch.lengths.tolist()
            scores += [f1(set(tree) - {(0, n)}, gold) for tree, n, gold in zip(trees, lengths, golds, strict=True)]
        return 100 * sum(scores) / len(scores)


def f1(predicted: set[tuple[int, int]], gold: set[tuple[int, int]]) -> float:
    """F1 of the spans of a sentence. Precision or recall is 1 if there are no spans."""
    matched = len(predicted & gold)
    precision, recall = (matched / len(spans) if spans else 1.0 for spans in (predicted, gold))
    return 2 * precision * recall / (precision + recall) if matched or not (predicted or gold) else 0.0


def ascend(objective: Callable[[Weights], float]) -> Weights:
    """Weights found by coordinate ascent in three passes, with ever smaller steps."""
    weights, best = START, objective(START)
    for scale in range(3):
        for _ in range(MAX_SWEEPS):
            before = best
            for name, steps in STEPS.items():
                for step in (steps[scale], -steps[scale]):
                    moved = {**weights, name: round(weights[name] + step, 6)}
                    while moved["limit"] > 0 and (value := objective(moved)) > best:
                        weights, best = moved, value
                        moved = {**weights, name: round(weights[name] + step, 6)}
            if best == before:
                break
    return weights


def main() -> None:
    """Tune the weights for each language, score its treebanks, and print the table."""
    options = corpus_experiment(__doc__, "edge-weights").parse_args()
    texts, golds, treebanks = {}, {}, {}
    for name in options.only:
        texts[name], golds[name], _ = write_corpus(CORPORA[name], options.data, options.out / name)
        run = options.out / name / "default"
        synparse(["train", str(texts[name]), "--model", "segment-edges", "-o", str(run), "--overwrite"])
        treebanks[name] = TuningTreebank.read(run, golds[name])
    scores: dict[tuple[str, tuple[float, ...]], float] = {}

    def score(name: str, weights: Weights) -> float:
        key = name, tuple(weights.values())
        if key not in scores:
            scores[key] = treebanks[name].uf1(weights)
        return scores[key]

    def total(names: Sequence[str]) -> Callable[[Weights], float]:
        return lambda weights: sum(score(name, weights) for name in names)

    rows: list[list[str]] = []
    tuned: dict[str, Weights] = {}
    for name in options.only:
        language = LANGUAGES.get(name, name)
        others = [other for other in options.only if LANGUAGES.get(other, other) != language]
        if language not in tuned:
            tuned[language] = ascend(total(others))
        changes = repeated("--set", [f"model.{key}={value:g}" for key, value in tuned[language].items()])
        run = options.out / name / "tuned"
        synparse(["train", str(texts[name]), "--model", "segment-edges", *changes, "-o", str(run), "--overwrite"])
        values = [uf1_of(golds[name], path) for path in (options.out / name / "default", run)]
        rows.append(
            [name, *(f"{value:.1f}" for value in values), *(f"{value:g}" for value in tuned[language].values())]
        )
        print(*rows[-1], file=sys.stderr, flush=True)
    print(markdown(["UF1", "default weights", "left out", *START], rows))


if __name__ == "__main__":
    main()
