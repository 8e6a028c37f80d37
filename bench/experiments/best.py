"""UF1 of ``synparse train --best`` by the number of minutes: docs/results/ensembles.md.

``python -m bench.experiments.best TEXT --gold GOLD [--minutes 5 20 60 180] [--seeds 3] [--out FOLDER]`` trains the
recipe on all cores, once for each number of minutes and seed, and scores its result (UF1, convention ``on-lstm``).
Runs and scores are stored in FOLDER, and the same command continues after an interruption.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.common import experiment, spread, stored
from bench.experiments.directions import train
from bench.report import markdown

MINUTES = (5.0, 20.0, 60.0, 180.0)


def main() -> None:
    """Measure what is missing, and print the table with means and deviations over seeds."""
    parser = experiment(__doc__, "best")
    parser.add_argument("text", type=Path)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--minutes", type=float, nargs="+", default=MINUTES)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for minutes in options.minutes:
        results = []
        for seed in range(1, options.seeds + 1):
            run = options.out / f"{minutes:g}-{seed}"
            training = partial(train, "best", seed, minutes, options.text, options.gold, run)
            results.append(stored(options.out / f"{run.name}.json", training))
        rows.append([f"{minutes:g}", *(spread([result[key] for result in results]) for key in ("UF1", "minutes"))])
    print(markdown(["minutes", "UF1", "CPU minutes"], rows))


if __name__ == "__main__":
    main()
