"""Commands of documentation pages, run with tiny models and a few sentences."""

from __future__ import annotations

import gzip
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from cli.main import run
from induce.settings.presets import load_preset
from tests.support.reference import ROOT
from tests.support.tiny import SETTINGS
from treebank.corpora.sample import sample_treebank

ROWS = [
    "1\tdogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_",
    "2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_",
    "3\tnow\t_\tADV\tRB\t_\t2\tadvmod\t_\t_\n",
]
TASK = ["task.expressions=60", "loader.batch_size=16"]
LIMITS = {"listops": "task.longest=12", "logic": "task.operators=2"}
SIZES = {
    "ordered-memory": ["model.slot_size=8", "model.slots=4", "model.test_slots=5"],
    "onlstm": ["model.hidden_size=16"],
}
CRAFT = {
    "ocn": ["task.expressions=24", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=12"],
    "ompn": ["task.expressions=24", "model.slot_size=6", "loader.batch_size=12"],
}
STS = "main-news\tx\t2015\t1\t4.0\tA dog saw a cat .\tThe dog saw cats .\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\tA dog runs\tA cat runs\t3\n"
PAIRS = "phenomenon\tgood\tbad\nsimple_agrmt\tthe author is old\tthe author are old\n"
TEXTS = (
    *("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt", "char.train.txt", "char.test.txt", "wiki.txt"),
    *("text.txt", "more.txt", "new.txt", "input.txt", "craft.txt", "craft_train.txt"),
)
TREEBANKS = ("gold.ptb", "gold.mrg", "treebank.mrg", "craft-dev.ptb", "craft-train.ptb", "trees.txt")


def commands(page: str) -> list[tuple[list[str], str]]:
    """The arguments of the ``synparse`` commands of a page, and the file to which each is redirected, or ""."""
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for line in "".join(blocks).splitlines() if line.startswith("synparse ")]
    parts = [shlex.split(line)[1:] for line in lines]
    return [(part[:-2], part[-1]) if ">" in part else (part, "") for part in parts]


def shrunk(arguments: list[str]) -> list[str]:
    """A training command with the settings of a tiny model before its own. Other commands do not change."""
    named = dict(pairwise(arguments))
    if arguments[:2] == ["task", "train"]:
        task = arguments[2]
        sizes = ["train.epochs=1"]
        if task == "craft":
            sizes += CRAFT[named.get("--model", "ocn")]
        elif task in LIMITS:
            sizes += [*TASK, LIMITS[task], *SIZES[named.get("--model", "ordered-memory")]]
        return [*arguments, *_options(sizes)]  # the last setting counts: the page's sizes are large
    if arguments[:2] == ["task", "transfer"]:
        return [*arguments, "--max-minutes", "0.05"]
    if arguments[0] != "train":
        return arguments
    if "--best" in arguments:
        return [*arguments, "--max-minutes", "0.1"]
    preset = load_preset(named["--preset"]) if "--preset" in named else None
    model = named.get("--model") or (preset.model_name if preset else "onlstm")
    settings = [*SETTINGS[model], *(["model.layers=3", "parse.layer=3"] if model == "onlstm-syd" else [])]
    if "loader.name=sentences" in arguments:
        settings = [setting for setting in settings if "segment_length" not in setting]
    if preset and preset.model.get("output_size"):
        settings.append("model.output_size=12")
    if model not in ("ccm", "dmv", "dmv-ccm"):
        settings.append("train.epochs=1")
    return [arguments[0], *_options(settings), *arguments[1:]]


def _options(settings: list[str]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def write_files(folder: Path) -> None:
    """Write the files that the pages assume, made from the built-in sample."""
    gold = sample_treebank("test").sentences[:12]
    trees = "".join(f"( {sentence.tree})\n" for sentence in gold)
    text = "".join(" ".join(sentence.words) + "\n" for sentence in gold)
    for section in ("02", "23"):
        (folder / "ptb" / section).mkdir(parents=True)
        (folder / "ptb" / section / f"wsj_{section}01.mrg").write_text(trees, encoding="utf-8")
    files = {
        **dict.fromkeys(TEXTS, text),
        **dict.fromkeys(TREEBANKS, trees),
        **dict.fromkeys(("sts-train.csv", "sts-dev.csv", "sts-test.csv"), STS * 8),
        "in.txt": "The dog saw a cat .\n",
        "SICK_test_annotated.txt": SICK,
        "formulas.txt": "( ( not a ) or ( b and c ) )\n",
        "gold.conllu": "\n".join([*ROWS, ""]) * 60,
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    for name in ("craft_train.txt", "craft-train.ptb"):
        (folder / f"{name}.gz").write_bytes(gzip.compress(files[name].encode()))
    (folder / "syneval").mkdir()
    (folder / "syneval" / "marvin_linzen_sample.tsv").write_text(PAIRS, encoding="utf-8")


def run_commands(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: list[str]
) -> None:
    """Run the commands ``first`` and those of a page in ``folder``, in order, and check that each succeeds."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SYNPARSE_PTB", str(folder / "ptb"))
    monkeypatch.delenv("SYNPARSE_MODEL", raising=False)
    monkeypatch.setattr("induce.tasks.evaluation.GENERATED", 20)
    for constant in ("GENERATED", "WORLDS"):
        monkeypatch.setattr(f"induce.tasks.craft.evaluation.{constant}", 6)
    write_files(folder)
    for arguments, output in [*((command, "") for command in first), *commands(page)]:
        code = run(shrunk(arguments))
        printed, errors = capsys.readouterr()
        assert code == 0, f"{arguments}\n{errors}"
        if output:
            (folder / output).write_text(printed, encoding="utf-8")
