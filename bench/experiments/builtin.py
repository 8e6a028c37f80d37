"""Train the built-in model of English: text in, one packed file out.

``python -m bench.experiments.builtin craft_train.txt.gz`` (the sentences of CRAFT's training part, one per line) trains
an ON-LSTM for two passes, then a neural PCFG that starts from the trees of that ON-LSTM and continues without them,
then another that starts from the trees of the first. It packs the last one in half precision into
``FOLDER/english.synparse``, which becomes ``induce/storage/builtin/english.synparse``. A second call resumes where the
first one stopped. The file of the text is linked into FOLDER, so that the model stores its name and not its path.
``--gold`` scores the result.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.common import RESULTS, set_options, synparse

TEACHER, FIRST, SECOND, FILE = "onlstm", "first", "second", "english.synparse"
PRIORS = "function-words:0.5,branching:0.1,punctuation:0.1"  # no others, as in the published model
ALIKE = ("data.joining_marks=false", "loader.crossing_penalty=0", f"parse.priors={PRIORS}")
GRAMMAR = ("--preset", "npcfg-right", *set_options(ALIKE), "--set")
STEPS = {
    TEACHER: ("--preset", "onlstm-small", "--set", "train.epochs=2"),
    FIRST: (
        *GRAMMAR,
        "train.epochs=8",
        "--set",
        f"parse.priors=prefix-symbols:2,{PRIORS}",
        "--teacher",
        f"{TEACHER}@decoder=biased",
        "--teacher",
        f"{TEACHER}@decoder=unbiased",
    ),
    SECOND: (*GRAMMAR, "train.epochs=16", "--seed", "2", "--teacher", FIRST),
}


def train(run: str, text: str, *options: str) -> None:
    """Train a run to its end, or resume it. A finished run stays as it is."""
    again = ["--resume"] if Path(run).exists() else [text, *options]
    seconds = synparse(["train", *again, "-o", run])[1]
    print(f"{run}: {seconds:.0f} seconds of CPU time", file=sys.stderr)


def main() -> None:
    """Train and pack the model, and score it on the gold treebanks, if any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--gold", nargs="*", default=[], help="treebanks: files, or names such as wsj10")
    parser.add_argument("--out", type=Path, default=RESULTS / "builtin")
    options = parser.parse_args()
    text, golds = (
        options.text.resolve(),
        [os.path.abspath(gold) if os.path.exists(gold) else gold for gold in options.gold],
    )
    options.out.mkdir(parents=True, exist_ok=True)
    os.chdir(options.out)
    if not Path(text.name).exists():
        Path(text.name).symlink_to(text)
    for run, settings in STEPS.items():
        train(run, text.name, *settings)
    print(synparse(["pack", "-m", SECOND, "--half", "-o", FILE])[0], end="")
    print(f"{Path(FILE).stat().st_size:,} bytes")
    for gold in golds:
        print(synparse(["eval", "--gold", gold, "-m", FILE, "--baseline", "right", "--baseline", "oracle"])[0])


if __name__ == "__main__":
    main()
