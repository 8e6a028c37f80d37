"""Calibration error of the confidences of plain ``synparse train`` on eight treebanks: docs/results/ensembles.md.

``python -m bench.experiments.calibration [--only CORPORA…] [--words N] [--minutes M] [--seed N] [--out FOLDER]`` trains
on the words of each treebank, parses its gold sentences, and prints the expected calibration error in points: with a
confidence of 1 for every phrase, with the score of the student, and with the calibrated confidence. The last columns
are the mean calibrated confidence of the least sure and of the surest tenth of the phrases, and the share of them in
gold. Results are stored in FOLDER, and the same command continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from pathlib import Path

import synparse
from bench.common import stored
from bench.common import synparse as call
from bench.experiments.directions import CORPORA, corpus_experiment, write_corpus
from bench.report import markdown
from induce.parsing.parser import Parser
from induce.reporting.parsed import Compared, Parsed
from induce.reporting.sections import Judged, calibration_bins, calibration_error, judged
from treebank.core.sentence import Sentence
from treebank.io.read import read_sentences

TREEBANKS = ("WSJ", "CRAFT", "GUM", "CESS", "Floresta", "IcePaHC", "Keyaki", "Sinica")
WORDS = 30_000  # of each text, punctuation included
COLUMNS = {  # name -> format
    "words": ",.0f",
    "phrases": ",.0f",
    "always 1": ".1f",
    "score of the student": ".1f",
    "calibrated": ".1f",
    "least sure tenth": ".2f",
    "in gold %": ".0f",
    "surest tenth": ".2f",
    "in gold % ": ".0f",
}


def judge(parser: Parser, sentences: Sequence[Sentence]) -> list[Judged]:
    """The confidence of each phrase of the parser, and whether gold has it."""
    model = Parsed.of(parser, sentences, name="model", run="model")
    return judged(Compared(sentences, [model]), model)


def error(parts: Sequence[Judged]) -> float:
    """Expected calibration error in points."""
    return 100 * calibration_error(calibration_bins(parts))


def measure(text: Path, gold: Path, run: Path, seed: int, minutes: float) -> dict[str, float]:
    """Train on ``text``, and the errors of each kind of confidence on ``gold``."""
    begin = ["--resume"] if run.exists() else [str(text), "--seed", str(seed)]
    call(["train", *begin, "--max-minutes", f"{minutes:g}", "-o", str(run)], all_cores=True)
    parser = synparse.load(run)
    without_map = copy(parser)
    without_map.confidence = ()
    sentences = list(read_sentences([gold]))
    parts = judge(parser, sentences)
    bins = calibration_bins(parts)
    values = (
        len(text.read_text(encoding="utf-8").split()),
        len(parts),
        error([Judged(1.0, part.is_correct) for part in parts]),
        error(judge(without_map, sentences)),
        error(parts),
        *(value for each in (bins[0], bins[-1]) for value in (each.mean, 100 * each.correct)),
    )
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = corpus_experiment(__doc__, "calibration")
    parser.set_defaults(only=list(TREEBANKS))
    parser.add_argument("--words", type=int, default=WORDS, help="of each corpus")
    parser.add_argument("--minutes", type=float, default=1.0, help="wall-clock minutes of each training")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for name in options.only:
        folder = options.out / f"{name}-{options.words}"
        text, gold, _ = write_corpus(CORPORA[name], options.data, folder, options.words)
        run = folder / f"{options.minutes:g}-{options.seed}"
        job = partial(measure, text, gold, run, options.seed, options.minutes)
        result = stored(run.with_suffix(".json"), job)
        rows.append([name, *(format(result[key], form) for key, form in COLUMNS.items())])
        print(" ".join(rows[-1]), flush=True)
    print(markdown(["text", *COLUMNS], rows))


if __name__ == "__main__":
    main()
