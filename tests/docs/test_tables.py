"""The commands of docs/how-to/reproduce-papers.md run in order, with tiny models and a few sentences."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from cli.main import run
from induce.registry import MODELS, TASKS
from induce.settings.presets import load_preset
from tests.support.reference import ROOT
from tests.support.tiny import SETTINGS
from treebank.corpora.sample import sample_treebank

PAGE = "docs/how-to/reproduce-papers.md"
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
CRAFT = ["task.expressions=24", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=12", "train.epochs=1"]
STS = "main-news\tx\t2015\t1\t4.0\tA dog saw a cat .\tThe dog saw cats .\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\tA dog runs\tA cat runs\t3\n"
PAIRS = "phenomenon\tgood\tbad\nsimple_agrmt\tthe author is old\tthe author are old\n"


def commands() -> list[list[str]]:
    """The arguments of the page's commands."""
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / PAGE).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [shlex.split(line)[1:] for line in "".join(blocks).splitlines()]


def shrunk(arguments: list[str]) -> list[str]:
    """A training command with the settings of a tiny model before its own."""
    named = dict(pairwise(arguments))
    if arguments[:2] == ["task", "train"]:
        task = arguments[2]
        if task in ("similarity", "craft"):
            return [*arguments, *_with([""], CRAFT if task == "craft" else ["train.epochs=1"])[1:]]
        sizes = [*TASK, LIMITS[task], *SIZES[named.get("--model", "ordered-memory")], "train.epochs=1"]
        return [*arguments, *_with([""], sizes)[1:]]  # the last setting counts: the page's sizes are large
    if arguments[0] != "train":
        return arguments
    preset = load_preset(named["--preset"])
    model = named.get("--model") or preset.model_name
    settings = [*SETTINGS[model], *(["model.layers=3", "parse.layer=3"] if model == "onlstm-syd" else [])]
    if "loader.name=sentences" in arguments:
        settings = [setting for setting in settings if "segment_length" not in setting]
    if preset.model.get("output_size"):
        settings.append("model.output_size=12")
    return _with(arguments, [*settings, "train.epochs=1"])


def _with(arguments: list[str], settings: list[str]) -> list[str]:
    return [arguments[0], *(part for setting in settings for part in ("--set", setting)), *arguments[1:]]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page assumes, made from the built-in sample."""
    monkeypatch.chdir(tmp_path)
    gold = sample_treebank("test").sentences[:12]
    for section in ("02", "23"):
        (tmp_path / "ptb" / section).mkdir(parents=True)
        trees = "".join(f"( {sentence.tree})\n" for sentence in gold)
        (tmp_path / "ptb" / section / f"wsj_{section}01.mrg").write_text(trees, encoding="utf-8")
    text = "".join(" ".join(sentence.words) + "\n" for sentence in gold)
    for name in (
        "ptb.train.txt",
        "ptb.valid.txt",
        "ptb.test.txt",
        "char.train.txt",
        "char.test.txt",
        "wiki.txt",
        "in.txt",
    ):
        (tmp_path / name).write_text(text if name != "in.txt" else "The dog saw a cat .\n", encoding="utf-8")
    for name in ("sts-train.csv", "sts-dev.csv", "sts-test.csv"):
        (tmp_path / name).write_text(STS * 8, encoding="utf-8")
    (tmp_path / "SICK_test_annotated.txt").write_text(SICK, encoding="utf-8")
    (tmp_path / "formulas.txt").write_text("( ( not a ) or ( b and c ) )\n", encoding="utf-8")
    (tmp_path / "gold.conllu").write_text("\n".join([*ROWS, ""]) * 3, encoding="utf-8")
    (tmp_path / "syneval").mkdir()
    (tmp_path / "syneval" / "marvin_linzen_sample.tsv").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def test_every_command_runs(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("induce.tasks.evaluation.GENERATED", 20)
    for constant in ("GENERATED", "WORLDS"):
        monkeypatch.setattr(f"induce.tasks.craft.evaluation.{constant}", 6)
    for arguments in commands():
        assert run(shrunk(arguments)) == 0, f"{arguments}\n{capsys.readouterr().err}"
        capsys.readouterr()
    assert (files / "figure-4.jsonl").read_text(encoding="utf-8").count("\n") == 12


def test_the_page_has_a_row_for_each_table() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    parts = {part.split(" (")[0].split("\n")[0]: part for part in text.split("\n## ")[1:]}
    expected = {
        "PRPN": range(1, 6),
        "ON-LSTM": range(1, 4),
        "Ordered Memory": range(4, 6),
        "UDGN": range(6, 12),
        "Option-Controller Network": range(12, 14),
        "SDLM": range(1, 5),
    }
    for name, tables in expected.items():
        for table in tables:
            assert f"\n| table {table}" in parts[name], (name, table)


def test_commands_name_existing_options() -> None:
    for arguments in commands():
        named = dict(pairwise(arguments))
        if arguments[0] == "task":
            assert arguments[1] in ("options", "curves", "transfer") or arguments[2] in TASKS
        else:
            assert named.get("--model", "lstm") in MODELS
