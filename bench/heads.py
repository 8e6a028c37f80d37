"""Time one run of Chu-Liu/Edmonds against a plain arborescence from each word as the root.

``python bench/heads.py`` prints a table and writes ``bench/results/heads.json``. Both are numpy code and give trees of
the same score. The plain one takes the best head of every word, contracts a cycle, and repeats this, for each root.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402

from induce.decoding.heads import maximum_tree  # noqa: E402

Tree = dict[int, int]  # word -> head


def plain(scores: np.ndarray, root: int) -> Tree:
    """Best arborescence from ``root``, by recursion, for the score ``scores[i, j]`` of head j for word i."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    best = scores.argmax(1)
    best[root] = root
    circle = _circle(best.tolist(), root)
    if not circle:
        return {i: int(head) for i, head in enumerate(best) if i != root}
    inside = np.array(circle)
    others = np.array([i for i in range(len(scores)) if i not in set(circle)])
    into = scores[np.ix_(inside, others)] - scores[inside, best[inside]][:, None]
    out = scores[np.ix_(others, inside)]
    smaller = np.full((len(others) + 1, len(others) + 1), -np.inf)
    smaller[:-1, :-1] = scores[np.ix_(others, others)]
    smaller[-1, :-1], smaller[:-1, -1] = into.max(0), out.max(1)
    entered, left = into.argmax(0), out.argmax(1)
    smaller_tree = plain(smaller, others.tolist().index(root))
    tree = {int(i): int(best[i]) for i in inside}
    for word, head in smaller_tree.items():
        if word == len(others):
            tree[int(inside[entered[head]])] = int(others[head])
        else:
            tree[int(others[word])] = int(inside[left[word]]) if head == len(others) else int(others[head])
    return tree


def _circle(heads: list[int], root: int) -> list[int]:
    """Words of a cycle, or an empty list."""
    visited_by = [0] * len(heads)
    visited_by[root] = -1
    for walk, start in enumerate(range(len(heads)), 1):
        i = start
        while not visited_by[i]:
            visited_by[i] = walk
            i = heads[i]
        if visited_by[i] == walk:
            circle = [i]
            while heads[circle[-1]] != i:
                circle.append(heads[circle[-1]])
            return circle
    return []


def once_for_each_root(scores: np.ndarray) -> float:
    """Score of the best tree, by the plain algorithm."""
    trees = (plain(scores, root) for root in range(len(scores)))
    return max(sum(scores[i, j] for i, j in tree.items()) for tree in trees)


def main() -> None:
    """Print and write the table."""
    draw, rows = np.random.default_rng(1), []
    for count in (10, 25, 50):
        matrices = [np.log(draw.dirichlet(np.full(count, 0.3), size=count) + 1e-9) for _ in range(20)]
        seconds = [0.0, 0.0]
        for scores in matrices:
            began = time.process_time()
            heads = maximum_tree(scores)
            middle = time.process_time()
            best = once_for_each_root(scores)
            ended = time.process_time()
            seconds[0] += middle - began
            seconds[1] += ended - middle
            assert abs(sum(scores[i, j] for i, j in enumerate(heads) if j >= 0) - best) < 1e-9
        single, repeated = (1000 * total / len(matrices) for total in seconds)
        rows.append(
            {"words": count, "one run (ms)": single, "once for each root (ms)": repeated, "ratio": repeated / single}
        )
        print(
            f"{count:3d} words: one run {single:7.2f} ms, once for each root {repeated:8.2f} ms, "
            f"{repeated / single:5.1f} times"
        )
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "heads.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
