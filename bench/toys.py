"""Small texts and the smallest settings of every model, for the programs that test failures."""

from __future__ import annotations

import random
from pathlib import Path

STREAM = ["loader.batch_size=4", "loader.segment_length=16"]
SENTENCES = ["loader.batch_words=120"]
LAYERS = ["model.embedding_size=8", "model.layers=2", "model.hidden_size=12"]
ORDERED = [*LAYERS, "model.chunk_size=4", *STREAM]
ATTENDING = ["model.embedding_size=8", "model.heads=2", "model.layers=1", "model.feedforward_size=8", *SENTENCES]
GRAMMAR = ["model.nonterminals=3", "model.preterminals=5", "model.embedding_size=6", *SENTENCES]
EM = ["model.classes=5", "model.passes=3", "model.sequences=60", "data.normalization=words"]
SMALL = {
    "onlstm": ORDERED,
    "onlstm-syd": [*ORDERED, "model.supervised_layer=2", "parse.layer=2"],
    "lstm": [*LAYERS, *STREAM],
    "ordered-memory": ["model.slot_size=8", "model.slots=3", *STREAM],
    "prpn": ["model.embedding_size=8", "model.hidden_size=8", "model.slots=3", "model.lookback=2", *STREAM],
    "prpn-syd": [
        *("model.embedding_size=8", "model.hidden_size=8", "model.parsing_size=6", "model.slots=3"),
        *("model.lookback=2", *STREAM),
    ],
    "npcfg": GRAMMAR,
    "cpcfg": [*GRAMMAR, "model.latent_size=2", "model.encoder_size=4"],
    "simple-pcfg": GRAMMAR,
    "structformer": [*ATTENDING, "model.parser_layers=1", "model.width=3"],
    "transformer": ATTENDING,
    "ocn": [
        *("model.embedding_size=8", "model.hidden_size=8", "model.inner_size=8", "model.options=3"),
        "loader.batch_size=8",
    ],
    "udgn": [
        *("model.embedding_size=8", "model.channels=2", "model.channel_size=4", "model.layers=1"),
        *("model.parser_layers=1", "model.mask_rate=0.3", *SENTENCES),
    ],
    "chart": ["model.embedding_size=8", "model.hidden_size=8", "model.span_size=6", *SENTENCES],
    "biaffine": ["model.embedding_size=8", "model.hidden_size=8", "model.arc_size=6", *SENTENCES],
    "ccm": EM,
    "dmv-ccm": EM,
    "dmv": [
        *("model.members=2", "model.classes_low=5", "model.classes_high=6", "model.short_passes=2"),
        *("model.middle_passes=1", "model.long_passes=1", "data.normalization=words"),
    ],
}
TASKS = {
    "listops": ["task.expressions=80", "task.longest=10", "loader.batch_size=20", "model.slot_size=6"],
    "logic": ["task.expressions=80", "loader.batch_size=20", "model.slot_size=6"],
    "craft": ["task.expressions=24", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=12"],
}
FOCUS = {"chart": "focus.mrg", "biaffine": "heads"}  # teachers of the models that need one
ALL = ["train.epochs=1"]
TEXT_ONLY = ["optimizer.learning_rate=0.01", "data.minimum_count=1", "data.development_share=0.1"]


def text(count: int, seed: int = 1) -> str:
    """Sentences such as ``The big dog saw a cat .``, one per line."""
    draw, lines = random.Random(seed), []
    for _ in range(count):
        words = ["The", draw.choice(["dog", "cat", "man"]), draw.choice(["saw", "met"]), draw.choice(["a", "the"])]
        words[1:1] = draw.sample(["big", "old"], draw.randrange(3))
        lines.append(" ".join([*words, draw.choice(["dog", "cat", "12"]), "."]))
    return "".join(f"{line}\n" for line in lines)


def trees(count: int, seed: int = 2) -> str:
    """Bracketed trees of the sentences of `text`, one per line."""
    lines = []
    for line in text(count, seed).splitlines():
        leaves = [f"(W {word})" for word in line.split()]
        subject, verb, thing = " ".join(leaves[:-4]), leaves[-4], " ".join(leaves[-3:-1])
        lines.append(f"(S (NP {subject}) (VP {verb} (NP {thing})) {leaves[-1]})\n")
    return "".join(lines)


def write(folder: Path, count: int = 24) -> None:
    """Write text.txt, its trees in focus.mrg, and trees of other sentences in trees.mrg into ``folder``."""
    (folder / "text.txt").write_text(text(count), encoding="utf-8")
    (folder / "focus.mrg").write_text(trees(count, seed=1), encoding="utf-8")
    (folder / "trees.mrg").write_text(trees(count), encoding="utf-8")


def training(model: str, *, resume: bool, run: str = "run") -> list[str]:
    """Command line that trains the smallest ``model``, or a model of the task of that name."""
    command = ["task", "train", model] if model in TASKS else ["train", "text.txt", "--model", model]
    inputs = ["--trees", "trees.mrg"] if model.endswith("-syd") else []
    inputs += ["--teacher", FOCUS[model]] if model in FOCUS else []
    settings = [*TASKS[model], *ALL] if model in TASKS else [*SMALL[model], *ALL, *TEXT_ONLY]
    chosen = [part for setting in settings for part in ("--set", setting)]
    return [*command, *inputs, *(["--resume"] if resume else []), "-o", run, *chosen]
