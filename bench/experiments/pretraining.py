"""Models trained on a free English text, for the tables of minimal pairs, sentence similarity and channels.

The text is the sample of Brown, the training part of EWT and the validation part of WikiText-2, cut into sentences and
words by the rule ``english``: 34,817 sentences, 697,613 tokens. Each model is its small preset with one vocabulary for
all. LSTM and ON-LSTM, which read the text about once, have little dropout and twice the learning rate.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.common import experiment, read_json, repeated, stop_after, write_json
from bench.report import markdown
from treebank.base.atomic_write import write_whole
from treebank.io.read import read_sentences

TEXT = "text"  # folder of the text and its models
TEXTS = ("raw/brown_sample.txt", "raw/en_ewt_train.txt", "raw/wikitext2/valid.txt")
MODELS = ("lstm", "onlstm", "prpn", "udgn", "structformer", "transformer")
SETTINGS = ("data.vocabulary_size=12000", "data.minimum_count=2")  # the same words for all
ONCE = (  # for a model that reads the text once, and thus cannot memorize it
    *(f"model.{part}_dropout=0.05" for part in ("embedding", "input", "hidden", "output")),
    *("model.weight_dropout=0.0", "optimizer.learning_rate=0.003"),
)
OWN = {"lstm": ONCE, "onlstm": ONCE}
RARE = "UNKNOWNWORD"  # replaces <unk> of WikiText during tokenization
LEAST = 10.0  # seconds, of which a start takes most


def sentences(data: Path) -> Iterator[str]:
    """Tokenized sentences of the text, without headings of WikiText. Its ``@-@`` becomes a hyphen."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "text.txt")
        for name in TEXTS:
            lines = re.sub(" @([-.,])@ ", r"\1", (data / name).read_text(encoding="utf-8")).split("\n")
            plain_lines = (line.replace("<unk>", RARE) for line in lines if not line.strip().startswith("= "))
            plain.write_text("\n".join(plain_lines), encoding="utf-8")
            for sentence in read_sentences([plain], tokenize="english"):
                if sentence.words:
                    yield " ".join(sentence.words).replace(RARE, "<unk>")


def text(data: Path, folder: Path) -> Path:
    """Path of the text in ``folder``, which is written if it does not exist."""
    path = folder / "text.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(f"{line}\n" for line in sentences(data)).encode())
    return path


def train(model: str, minutes: float, data: Path, folder: Path, settings: Sequence[str] = ()) -> Path:
    """Train ``model`` up to ``minutes`` of CPU time in total, including starts and reading, and return its run.

    The CPU time in seconds is stored in ``NAME.seconds.json`` next to the run.
    """
    run = folder / model
    call = ["train", str(text(data, folder)), "--preset", f"{model}-small", "-o", str(run), "--seed", "1"]
    call += repeated("--set", (*SETTINGS, *OWN.get(model, ()), *settings))
    if (left := 60 * minutes - spent(run)) > LEAST:
        seconds = stop_after(["train", "--resume", "-o", str(run)] if (run / "last").exists() else call, left)
        write_json(run.with_name(f"{run.name}.seconds.json"), spent(run) + seconds)
    return run


def spent(run: Path) -> float:
    """CPU seconds of a run so far."""
    return float(read_json(run.with_name(f"{run.name}.seconds.json")) or 0.0)


def describe(models: Sequence[str], folder: Path) -> str:
    """Markdown table of the CPU minutes, passes over the text, and last perplexity of each model."""
    rows = []
    for model in models:
        run = folder / model
        events = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        progress = [event for event in events if event["event"] == "progress"]  # very short trainings have none
        last = [[f"{event['epoch'] - 1 + event['share']:.2f}", f"{event['perplexity']:.0f}"] for event in progress[-1:]]
        rows.append([f"`{model}`", f"{spent(run) / 60:.1f}", *(last[0] if last else ["", ""])])
    return markdown(["", "minutes of a processor", "passes", "perplexity of the last pass"], rows)


def options_of(text: str | None, minutes: float, out: str = TEXT) -> argparse.ArgumentParser:
    """Options of an experiment with these models."""
    parser = experiment(text, out)
    parser.add_argument("--minutes", type=float, default=minutes, help="CPU minutes of each training")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="for every training")
    return parser
