"""Models of the free English text, which other programs here score: ``python bench/pretraining.py [--minutes 10]``.

The text is the sample of Brown, the training part of EWT and the validation part of WikiText-2, cut into sentences and
words by the rule ``english``: 34,817 sentences, 697,613 tokens. Each model is its small preset with one vocabulary for
all; LSTM and ON-LSTM, which read the text about once, have little dropout and twice the learning rate. Runs are kept in
``bench/results/text``; called again, the program goes on where it was.
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
ONCE = (  # for a model that reads the text once, and so cannot learn it by heart
    *(f"model.{part}_dropout=0.05" for part in ("embedding", "input", "hidden", "output")),
    *("model.weight_dropout=0.0", "optimizer.learning_rate=0.003"),
)
OWN = {"lstm": ONCE, "onlstm": ONCE}
RARE = "UNKNOWNWORD"  # stands for <unk> of WikiText while the text is cut into words
LEAST = 10.0  # seconds, of which a start takes most


def sentences(data: Path) -> Iterator[str]:
    """The text, words separated by spaces; headings of WikiText are left out, and its ``@-@`` is a hyphen again."""
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
    """The file of the text in ``folder``, written if it is not there."""
    path = folder / "text.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(f"{line}\n" for line in sentences(data)).encode())
    return path


def train(model: str, minutes: float, data: Path, folder: Path, settings: Sequence[str] = ()) -> Path:
    """The run of ``model`` after so many minutes of a processor in all, starts and what reads the text included.

    What was spent, in seconds, is in ``NAME.seconds.json`` beside the run.
    """
    run = folder / model
    call = ["train", str(text(data, folder)), "--preset", f"{model}-small", "-o", str(run), "--seed", "1"]
    call += [part for change in (*SETTINGS, *OWN.get(model, ()), *settings) for part in ("--set", change)]
    if (left := 60 * minutes - spent(run)) > LEAST:
        seconds = stopped(["train", "--resume", "-o", str(run)] if (run / "last").exists() else call, left)
        write_whole(seconds_file(run), f"{spent(run) + seconds:.1f}\n".encode())
    return run


def stopped(arguments: Sequence[str], seconds: float) -> float:
    """Run synparse, end it when it has had so many ``seconds`` of a processor, and give those that it had.

    A limit of minutes would give a model less on a busy machine. The count is Linux's.
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
    """Where the processor seconds of a run are."""
    return run.with_name(f"{run.name}.seconds.json")


def spent(run: Path) -> float:
    """The processor seconds of a run so far."""
    file = seconds_file(run)
    return float(file.read_text(encoding="utf-8")) if file.exists() else 0.0


def describe(models: Sequence[str], folder: Path) -> str:
    """Markdown: how long each model was trained, how often it read the text, and how it did in what it read last."""
    lines = ["| | minutes of a processor | passes | perplexity of the last pass |", "| --- |" + " ---: |" * 3]
    for model in models:
        run = folder / model
        events = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        progress = [event for event in events if event["event"] == "progress"]  # none of a few sentences
        read = [f"{event['epoch'] - 1 + event['share']:.2f} | {event['perplexity']:.0f}" for event in progress[-1:]]
        lines.append(f"| `{model}` | {spent(run) / 60:.1f} | {''.join(read) or ' | '} |")
    return "\n".join(lines)


def main() -> None:
    """Train the models named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--minutes", type=float, default=10.0, help="of a processor, for each")
    parser.add_argument("--only", nargs="+", default=MODELS, choices=MODELS)
    options = parser.parse_args()
    for model in options.only:
        print(train(model, options.minutes, options.data, RUNS), flush=True)


if __name__ == "__main__":
    main()
