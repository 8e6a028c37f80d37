"""Speed of scoring against a plain recursion over nested trees, and of the command against only reading its files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.common import DATA, ROOT, best_seconds
from treebank.core.baselines import right
from treebank.core.tree import Tree
from treebank.corpora.catalog import load_whole
from treebank.evaluate.align import Bracketing, view_treebank
from treebank.evaluate.averaging import average_score
from treebank.evaluate.conventions import CONVENTIONS
from treebank.evaluate.span_counts import count_spans, counted_spans
from treebank.io.bracketed import read_bracketed

ROUNDS = 3
TREES = 40_000
READ = "import sys; from treebank.io.bracketed import read_bracketed as r; [list(r(p)) for p in sys.argv[1:]]"
EVAL = (
    "import sys; from cli.main import run; code = run(['eval', '--gold', sys.argv[1], sys.argv[2]]); "
    "assert 'torch' not in sys.modules; sys.exit(code)"
)


def nested_spans(tree: Any, start: int, spans: set[tuple[int, int]]) -> int:
    """Add the span of every inner node of a nested list to ``spans``, and return its end."""
    end = start
    for child in tree:
        end = nested_spans(child, end, spans) if isinstance(child, list) else end + 1
    if end - start > 1:
        spans.add((start, end))
    return end


def plain(pairs: list[tuple[Any, Any]]) -> float:
    """UF1 by a recursion over both trees of each pair, with one call per node."""
    scores = []
    for trees in pairs:
        span_sets: list[set[tuple[int, int]]] = [set(), set()]
        for tree, spans in zip(trees, span_sets, strict=True):
            spans.discard((0, nested_spans(tree, 0, spans)))
        gold, predicted = span_sets
        matched = len(gold & predicted)
        precision, recall = matched / (len(predicted) + 1e-8), matched / (len(gold) + 1e-8)
        if not gold:
            recall, precision = 1.0, precision if predicted else 1.0
        scores.append(2 * precision * recall / (precision + recall + 1e-8))
    return sum(scores) / len(scores)


def as_list(tree: Any) -> Any:
    """Nested lists of an nltk tree, without tags."""
    if len(tree) == 1 and isinstance(tree[0], str):
        return tree[0]
    return [child if isinstance(child, str) else as_list(child) for child in tree]


os.environ.setdefault("NLTK_DATA", str(DATA / "nltk_data"))  # for the sample of the WSJ


def scoring() -> dict[str, float]:
    """Seconds of UF1 (on-lstm) of trees in memory, by synparse and by a plain recursion."""
    gold, convention = load_whole("wsj"), CONVENTIONS["on-lstm"]
    rule, views = convention.bracket_rule, view_treebank(gold, convention.tokens)
    predicted = [Tree.from_spans(view.tree.words, right(view.tree, None)) for view in views]  # type: ignore[arg-type]
    brackets = [Bracketing(len(tree), tree.spans) for tree in predicted]
    reference = [view.brackets for view in views]
    pairs = [
        (as_list(view.tree.to_nltk()), as_list(tree.to_nltk())) for view, tree in zip(views, predicted, strict=True)
    ]
    sys.setrecursionlimit(10_000)

    def synparse_f1() -> float:
        counts = [
            count_spans(counted_spans(guess, rule, gold=False), counted_spans(truth, rule, gold=True))
            for guess, truth in zip(brackets, reference, strict=True)
        ]
        return average_score(counts, convention).f1

    assert abs(synparse_f1() - plain(pairs)) < 1e-12, "the two must agree"
    seconds = best_seconds({"synparse": synparse_f1, "plain recursion": lambda: plain(pairs)}, ROUNDS)
    return {**seconds, "ratio": seconds["plain recursion"] / seconds["synparse"]}


def command() -> dict[str, float]:
    """Seconds of ``synparse eval`` on two files of 40,000 trees, and of only reading both."""
    trees = [str(sentence.tree) for sentence in load_whole("wsj").sentences]
    with tempfile.TemporaryDirectory() as name:
        paths = [str(Path(name) / "gold.mrg"), str(Path(name) / "predicted.mrg")]
        for path in paths:
            lines = (trees * (TREES // len(trees) + 1))[:TREES]
            Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        assert sum(1 for _ in read_bracketed(paths[0])) == TREES
        runs = {kind: lambda text=text: call(text, paths) for kind, text in (("read", READ), ("eval", EVAL))}
        seconds = best_seconds(runs, ROUNDS, clock=time.perf_counter)
    return {**seconds, "ratio": seconds["eval"] / seconds["read"]}


def call(program: str, arguments: list[str]) -> None:
    """Run a short program in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of trees in memory, and unless ``quick`` of the command."""
    return {"scoring": scoring(), **({} if quick else {"command": command()})}
