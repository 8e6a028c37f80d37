"""Time and memory that users wait for: the first tree of a typed sentence, and parsing of text by recommended models.

Models are trained for an instant, because the time to parse hardly depends on how well they are trained. The time of
the first tree is subtracted from that of a text. Speeds in one thread are of CPU time, which other programs change less
than wall-clock time; those on all cores are of wall-clock time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.common import ONE_THREAD, Usage, measured, synparse
from treebank.corpora.sample import sample_treebank

ROUNDS = 3
TAUGHT = 200  # sentences that models learn
ALL_CORES: Mapping[str, str] = {}
#: Model -> the sentences that it parses
SENTENCES = {
    "student": 8000,
    "english": 8000,
    "english-heads": 8000,
    "onlstm-small": 4000,
    "dmv-small": 1000,
    "vote of 3": 400,
}
QUICK = ("student", "english", "english-heads")
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


def make_model(name: str, folder: Path) -> str:
    """The name of a built-in model, or the folder of a model trained in ``folder``."""
    if name.startswith("english"):
        return name
    text = folder / "taught.txt"
    write(text, TAUGHT)
    train = ["train", str(text), "--max-minutes", "0.1"]
    if name == "student":
        train += ["--set", "train.epochs=1", "--teacher", "english"]
    if name != "vote of 3":
        preset = "chart-small" if name == "student" else name
        synparse([*train, "--preset", preset, "-o", str(folder / name)])
        return str(folder / name)
    members: list[str] = []
    for preset, count in VOTERS.items():
        for seed in range(1, count + 1):
            members.append(str(folder / f"{preset}-{seed}"))
            options = ["--preset", preset, "--set", "train.epochs=1", "--seed", str(seed)]
            synparse([*train, *options, "-o", members[-1]])
    synparse(["combine", *members, "-o", str(folder / "vote")])
    return str(folder / "vote")


def parse(model: str, path: Path, environment: Mapping[str, str]) -> list[Usage]:
    """Usage of each round of parsing ``path``."""
    command = [sys.executable, "-m", "synparse", "parse", "-m", model, str(path)]
    return [measured(command, environment=environment) for _ in range(ROUNDS)]


def figures_of(model: str, sentence: Path, text: Path, words: int) -> dict[str, float]:
    """Figures of the best rounds of one model."""
    first, single = parse(model, sentence, ONE_THREAD), parse(model, text, ONE_THREAD)
    parallel = parse(model, text, ALL_CORES)
    start = min(run.seconds for run in first)
    cpu = min(run.cpu for run in single) - min(run.cpu for run in first)
    return {
        "first tree s": start,
        "first tree MB": min(run.memory for run in first),
        "text MB": min(run.memory for run in single),
        "words/s": words / cpu,
        "all cores words/s": words / (min(run.seconds for run in parallel) - start),
    }


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of each model, or of those that parse without torch if ``quick``."""
    figures: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        sentence, text = folder / "sentence.txt", folder / "text.txt"
        write(sentence, 1)
        for model in QUICK if quick else SENTENCES:
            words = write(text, SENTENCES[model])
            figures[model] = figures_of(make_model(model, folder), sentence, text, words)
    return figures
