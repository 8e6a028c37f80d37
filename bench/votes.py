"""Speed of an ensemble by the number of sentences that are parsed at a time.

``python bench/votes.py RUN --text TEXT [--sentences 1500] [--sizes 128 512] [--rounds 3]`` parses the text
in one process with each size alternately, and prints the minimal CPU seconds of all rounds, and the ratios. ``RUN`` is
an ensemble. The trees should not depend on the size.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.machine import describe  # noqa: E402
from induce.parsing.ensemble import Ensemble  # noqa: E402
from induce.parsing.load import load_parser  # noqa: E402
from treebank.core.sentence import Sentence  # noqa: E402


def main() -> None:
    """Parse the text with each size alternately, and print times and equal trees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--text", required=True)
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = Path(options.text).read_text(encoding="utf-8").splitlines()[: options.sentences]
    text = [Sentence(tuple(line.split())) for line in lines]
    vote = load_parser(options.run)
    if not isinstance(vote, Ensemble):
        parser.error(f"{options.run}: not an ensemble; make one with synparse combine")
    seconds: dict[int, list[float]] = {size: [] for size in options.sizes}
    trees: list[str] = []
    for _ in range(options.rounds):
        for size in options.sizes:
            began = time.process_time()
            readings = [
                reading for start in range(0, len(text), size) for reading in vote._vote(text[start : start + size])[0]
            ]
            seconds[size].append(time.process_time() - began)
            predictions = [str(reading.tree(vote.decode)) for reading in readings]
            trees = trees or predictions
            same = sum(first == second for first, second in zip(trees, predictions, strict=True))
            print(f"{size}: {seconds[size][-1]:.1f} s, {same} of {len(text)} trees the same", flush=True)
    print(describe()["processor"])
    for size, rounds in seconds.items():
        ratio = min(seconds[options.sizes[0]]) / min(rounds)
        print(f"{size:5d} sentences at a time: {min(rounds):6.1f} s, {ratio:.2f} times as fast as the first")


if __name__ == "__main__":
    main()
