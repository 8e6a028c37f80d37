"""Time Craft: steps per second in many parallel worlds, and demonstrations per second.

``python bench/craft.py`` prints the figures of one core and writes ``bench/results/craft.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402

from induce.tasks.craft.demonstrator import demonstrate  # noqa: E402
from induce.tasks.craft.episodes import Episodes  # noqa: E402
from induce.tasks.craft.sketches import treasure_of  # noqa: E402
from induce.tasks.craft.world import ACTIONS, draw  # noqa: E402

SKETCH = "ADC"


def rate(run: Callable[[], int], rounds: int) -> float:
    """Result of ``run`` per second of CPU time in the best round."""
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        count = run()
        rates.append(count / (time.process_time() - start))
    return max(rates)


def steps(worlds: int, count: int, *, observed: bool) -> int:
    """Take ``count`` random steps in each world, with an observation after each step if ``observed``."""
    rng, episodes = np.random.default_rng(1), Episodes(SKETCH, worlds, seed=1)
    for _ in range(count):
        episodes.step(rng.integers(len(ACTIONS), size=worlds))
        if observed:
            episodes.observe()
    return worlds * count


def demonstrations(worlds: int) -> int:
    """Demonstrate the task in each world, and return the number of solved worlds."""
    return int(demonstrate(draw(np.random.default_rng(1), worlds, treasure_of(SKETCH)), SKETCH).solved.sum())


def main() -> None:
    """Print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    figures = {
        "steps/s": rate(lambda: steps(options.worlds, 50, observed=False), options.rounds),
        "steps/s with observations": rate(lambda: steps(options.worlds, 50, observed=True), options.rounds),
        "demonstrations/s": rate(lambda: demonstrations(options.worlds), options.rounds),
    }
    for name, value in figures.items():
        print(f"{name:28s} {value:,.0f}")
    (HERE / "results").mkdir(exist_ok=True)
    content = json.dumps({"worlds": options.worlds, "figures": figures}, indent=1) + "\n"
    (HERE / "results" / "craft.json").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
