"""Commands of documentation pages, run with tiny models and a few sentences."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cli.main import run
from induce.recipes.recipe import SHIPPED
from induce.settings.presets import load_preset
from tests.support.calls import set_options, shell
from tests.support.reference import ROOT
from tests.support.tiny import SETTINGS
from treebank.core.sentence import Treebank
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
    **{name: ["model.hidden_size=8"] for name in ("onlstm", "gumbel-tree-lstm", "crvnn", "rl-spinn")},
}
SAMPLE = [  # without a text
    *("model.embedding_size=16", "model.hidden_size=16", "model.chunk_size=4", "model.layers=2", "train.epochs=1"),
    *("loader.batch_size=100", "loader.development_batch_size=100"),
]
CRAFT = {
    "ocn": ["task.expressions=24", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=12"],
    "ompn": ["task.expressions=24", "model.slot_size=6", "loader.batch_size=12"],
}
STS = "main-news\tx\t2015\t1\t4.0\tA dog saw a cat .\tThe dog saw cats .\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\tA dog runs\tA cat runs\t3\n"
PROGRAMS = ("synparse ", "printf ", "echo ", "head ", "cmp ", "python ")
PAIRS = "phenomenon\tgood\tbad\nsimple_agrmt\tthe author is old\tthe author are old\n"
TEXTS = (
    *("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt", "char.train.txt", "char.test.txt", "wiki.txt"),
    *("text.txt", "more.txt", "new.txt", "input.txt", "test.txt", "sentences.txt", "corpus.txt", "book.txt"),
    *("craft.txt", "craft_train.txt", "texts/a.txt", "texts/b.txt"),
)
TREEBANKS = (
    *("gold.ptb", "gold.mrg", "treebank.ptb", "treebank.mrg", "craft-dev.ptb", "craft-train.ptb"),
    *("trees.txt", "trees-of-another-parser.txt", "checked.ptb"),
)


def part_of_sample(part: str) -> Treebank:
    """The first sentences of a part of the built-in sample, which is large."""
    return replace(sample_treebank(part), sentences=sample_treebank(part).sentences[: 800 if part == "train" else 60])


def fences(page: str, language: str = "") -> list[str]:
    """Contents of the fenced blocks of a page in a language, or of those without a language, which hold commands."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in blocks if name == language]


def examples(page: str) -> list[tuple[str, str]]:
    """Commands that follow ``$`` in the fenced blocks of a page, and their output on the page."""
    pattern = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return [example for block in fences(page) for example in pattern.findall(block)]


def lines(page: str) -> list[str]:
    """The commands in the fenced blocks of a page."""
    return [line.strip() for line in "".join(fences(page)).splitlines() if line.strip().startswith(PROGRAMS)]


def commands(page: str) -> list[tuple[list[str], str]]:
    """The arguments of the ``synparse`` commands of a page, and the file to which each is redirected, or ""."""
    return [_split(line) for line in lines(page) if line.startswith("synparse ")]


def _split(line: str) -> tuple[list[str], str]:
    part = shlex.split(line)[1:]
    return (part[:-2], part[-1]) if ">" in part else (part, "")


def shrunk(arguments: list[str]) -> list[str]:
    """A training command with the settings of a tiny model before its own. Other commands do not change."""
    named = dict(pairwise(arguments))
    if arguments[:2] == ["task", "train"]:
        task = arguments[2]
        sizes = ["train.epochs=1"]
        has_file = len(arguments) > 3 and not arguments[3].startswith("-")  # task.expressions has no effect then
        if task == "craft":
            sizes += CRAFT[named.get("--model", "ocn")][has_file:]
        elif task in LIMITS:
            sizes += [*TASK[has_file:], LIMITS[task], *SIZES.get(named.get("--model", "ordered-memory"), [])]
        return [*arguments, *set_options(*sizes)]  # the last setting counts: the page's sizes are large
    if arguments[:2] == ["task", "transfer"]:
        return [*arguments, *set_options("loader.batch_size=32", "train.epochs=1")]
    if arguments[0] != "train" or "--resume" in arguments:
        return arguments
    if not {"--model", "--preset", "--set", "--trees", "--teacher"} & {*arguments}:
        return [*arguments, "--max-minutes", "0.1"]
    preset = load_preset(named["--preset"]) if "--preset" in named else None
    model = named.get("--model") or (preset.model_name if preset else "onlstm")
    if arguments == ["train", "--model", "onlstm"]:  # no text
        return [*arguments, *set_options(*SAMPLE)]
    settings = [*SETTINGS[model], *(["model.layers=3", "parse.layer=3"] if model == "onlstm-syd" else [])]
    if "loader.name=sentences" in arguments:
        settings = [setting for setting in settings if "segment_length" not in setting]
    if preset and preset.model.get("output_size"):
        settings.append("model.output_size=12")
    if model not in ("segment-edges", "ccm", "dmv", "dmv-ccm"):
        settings.append("train.epochs=1")
    return [arguments[0], *set_options(*settings), *arguments[1:]]


def write_files(folder: Path) -> None:
    """Write the files that the pages assume, made from the built-in sample."""
    gold = sample_treebank("test").sentences[:12]
    trees = "".join(f"( {sentence.tree})\n" for sentence in gold)
    text = "".join(" ".join(sentence.words) + "\n" for sentence in gold)
    pairs = "".join(json.dumps({"sentence1": line, "sentence2": line}) + "\n" for line in text.splitlines())
    for section in ("02", "21", "23"):
        (folder / "ptb" / section).mkdir(parents=True)
        (folder / "ptb" / section / f"wsj_{section}01.mrg").write_text(trees, encoding="utf-8")
    files = {
        **dict.fromkeys(TEXTS, text),
        **dict.fromkeys(TREEBANKS, trees),
        **dict.fromkeys(("sts-train.csv", "sts-dev.csv", "sts-test.csv"), STS * 8),
        **dict.fromkeys(("snli_1.0_train.jsonl", "multinli_1.0_train.jsonl"), pairs),
        "in.txt": "The dog saw a cat .\n",
        "SICK_test_annotated.txt": SICK,
        "formulas.txt": "( ( not a ) or ( b and c ) )\n",
        "gold.conllu": "\n".join([*ROWS, ""]) * 60,
    }
    (folder / "texts").mkdir()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    for name in ("corpus.txt", "craft_train.txt", "craft-train.ptb"):
        (folder / f"{name}.gz").write_bytes(gzip.compress(files[name].encode()))
    (folder / "syneval").mkdir()
    (folder / "syneval" / "marvin_linzen_sample.tsv").write_text(PAIRS, encoding="utf-8")


def run_commands(
    page: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    first: Sequence[str] = (),
    server: str = "",
) -> None:
    """Run the commands ``first`` and those of a page in ``folder``, in order, and check that each succeeds.

    Commands of other programs, and pipes, run in bash, with ``synparse`` forked by the server at this address.
    """
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SYNPARSE_PTB", str(folder / "ptb"))
    monkeypatch.delenv("SYNPARSE_MODEL", raising=False)
    monkeypatch.setattr("induce.tasks.accuracy.GENERATED", 20)
    for module in ("treebank.corpora.catalog", "induce.training.prepare"):
        monkeypatch.setattr(f"{module}.sample_treebank", part_of_sample)
    for constant in ("GENERATED", "WORLDS"):
        monkeypatch.setattr(f"induce.tasks.craft.policy_scores.{constant}", 6)
    recipes = folder / ".recipes"
    recipes.mkdir()
    for path in SHIPPED.glob("*.toml"):  # a student learns a small text in up to 40 passes
        recipe = re.sub(r"^max_passes = \d+", "max_passes = 1", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        (recipes / path.name).write_text(recipe, encoding="utf-8")
    monkeypatch.setattr("induce.recipes.recipe.SHIPPED", recipes)
    write_files(folder)
    for line in [*first, *lines(page)]:
        if line.startswith("synparse ") and "|" not in line:
            arguments, output = _split(line)
            code = run(shrunk(arguments))
            printed, errors = capsys.readouterr()
            if output:
                (folder / output).write_text(printed, encoding="utf-8")
        else:
            done = shell(re.sub(r"\bsynparse ", "$RUN ", line), folder, server)
            code, errors = done.returncode, done.stderr
        assert code == 0, f"{line}\n{errors}"
