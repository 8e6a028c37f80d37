"""Time and memory that users wait for: the first tree of a typed sentence, and parsing of text by recommended models.

Models are trained for an instant, because the time to parse hardly depends on how well they are trained. The time of
the first tree is subtracted from that of a text. All times are CPU times of one thread, which other programs change
less than wall-clock times.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.common import measured, synparse
from treebank.corpora.sample import sample_treebank

ROUNDS = 3
TAUGHT = 200  # sentences that models learn
STUDENT_SENTENCES, GRAMMAR_SENTENCES, VOTE_SENTENCES = 8000, 1000, 400
VOTERS = {"npcfg-small": 2, "simple-pcfg-small": 1}  # members of each preset in the vote


def sentences(count: int) -> list[str]:
    """Lines of the training part of the sample, repeated if it has less than ``count``."""
    lines = [" ".join(sentence.words) for sentence in sample_treebank("train").sentences]
    return (lines * -(-count // len(lines)))[:count]


def write(path: Path, count: int) -> int:
    """Write ``count`` sentences and return the number of words."""
    lines = sentences(count)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return sum(len(line.split()) for line in lines)


def make_models(folder: Path) -> dict[str, str]:
    """Names or folders of the models: the built-in grammar, its student, and a vote of grammars."""
    text, short = folder / "taught.txt", ("--max-minutes", "0.1")
    write(text, TAUGHT)
    train = ["train", str(text), "--set", "train.epochs=1", *short]
    synparse([*train, "--preset", "chart-small", "--teacher", "english", "-o", str(folder / "student")])
    members: list[str] = []
    for preset, count in VOTERS.items():
        for seed in range(1, count + 1):
            members.append(str(folder / f"{preset}-{seed}"))
            synparse([*train, "--preset", preset, "--seed", str(seed), "-o", members[-1]])
    synparse(["combine", *members, "-o", str(folder / "vote")])
    return {"student": str(folder / "student"), "built-in": "english", "vote of 3": str(folder / "vote")}


def speed(model: str, sentence: Path, text: Path, words: int) -> float:
    """Words per second of CPU time of the best round, without the time of the first tree."""
    starts, times = [], []
    for _ in range(ROUNDS):
        starts.append(synparse(["parse", "-m", model, str(sentence)])[1])
        times.append(synparse(["parse", "-m", model, str(text)])[1])
    return words / (min(times) - min(starts))


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of the first tree and of a text by each model, without the vote if ``quick``."""
    figures: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        sentence, text = folder / "sentence.txt", folder / "text.txt"
        write(sentence, 1)
        sizes = {"student": STUDENT_SENTENCES, "built-in": GRAMMAR_SENTENCES, "vote of 3": VOTE_SENTENCES}
        for label, model in make_models(folder).items():
            if quick and label.startswith("vote"):
                continue
            words = write(text, sizes[label])
            command = [sys.executable, "-m", "synparse", "parse", "-m", model, str(sentence)]
            runs = [measured(command, environment={}) for _ in range(ROUNDS)]
            figures[label] = {
                "first tree s": min(run.seconds for run in runs),
                "first tree MB": min(run.memory for run in runs),
                "words/s": speed(model, sentence, text, words),
            }
    return figures
