"""Train models on a free English text for other benchmarks: ``python bench/pretraining.py [--minutes 10]``.

The text is the sample of Brown, the training part of EWT and the validation part of WikiText-2, cut into sentences and
words by the rule ``english``: 34,817 sentences, 697,613 tokens. Each model is its small preset with one vocabulary for
all. LSTM and ON-LSTM, which read the text about once, have little dropout and twice the learning rate. Runs are stored
in ``bench/results/text``; a second call continues where the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from treebank.base.atomic_write import write_whole  # noqa: E402
from treebank.io.read import read_sentences  # noqa: E402

DATA = HERE.parent.parent / "shared" / "data"
RUNS = HERE / "results" / "text"
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
    call += [part for change in (*SETTINGS, *OWN.get(model, ()), *settings) for part in ("--set", change)]
    if (left := 60 * minutes - spent(run)) > LEAST:
        seconds = stopped(["train", "--resume", "-o", str(run)] if (run / "last").exists() else call, left)
        write_whole(seconds_file(run), f"{spent(run) + seconds:.1f}\n".encode())
    return run


def stopped(arguments: Sequence[str], seconds: float) -> float:
    """Run synparse for at most ``seconds`` of CPU time, and return the CPU seconds that it used.

    ``--max-minutes`` limits wall-clock time, which trains a model less on a busy machine. Needs /proc of Linux.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-m", "synparse", *arguments], env=environment, stderr=subprocess.PIPE, text=True
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    while process.poll() is None:
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") >= seconds:
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.2)
    messages = process.communicate()[1]
    if process.returncode not in (0, 128 + signal.SIGTERM):
        raise SystemExit(f"synparse {' '.join(arguments)}: {messages.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_file(run: Path) -> Path:
    """Path of the file with the CPU seconds of a run."""
    return run.with_name(f"{run.name}.seconds.json")


def spent(run: Path) -> float:
    """CPU seconds of a run so far."""
    file = seconds_file(run)
    return float(file.read_text(encoding="utf-8")) if file.exists() else 0.0


def describe(models: Sequence[str], folder: Path) -> str:
    """Markdown table of the CPU minutes, passes over the text, and last perplexity of each model."""
    lines = ["| | minutes of a processor | passes | perplexity of the last pass |", "| --- |" + " ---: |" * 3]
    for model in models:
        run = folder / model
        events = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        progress = [event for event in events if event["event"] == "progress"]  # very short trainings have none
        read = [f"{event['epoch'] - 1 + event['share']:.2f} | {event['perplexity']:.0f}" for event in progress[-1:]]
        lines.append(f"| `{model}` | {spent(run) / 60:.1f} | {''.join(read) or ' | '} |")
    return "\n".join(lines)


def main() -> None:
    """Train the selected models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--minutes", type=float, default=10.0, help="CPU minutes of each model")
    parser.add_argument("--only", nargs="+", default=MODELS, choices=MODELS)
    options = parser.parse_args()
    for model in options.only:
        print(train(model, options.minutes, options.data, RUNS), flush=True)


if __name__ == "__main__":
    main()
