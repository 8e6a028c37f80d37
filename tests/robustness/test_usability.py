"""Conveniences of the command line: completion, spelling of names, model folders as arguments, settings."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from cli.main import synparse
from cli.training_progress import next_steps
from induce.settings.presets import resolve
from induce.settings.run import effective_settings
from induce.training.events import Finished
from tests.support.calls import ENVIRONMENT, PROGRAM, Caller


def completed(words: str) -> list[str]:
    environment = {
        **ENVIRONMENT,
        "_SYNPARSE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, check=True)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_completion_of_commands_and_options() -> None:
    assert completed("synparse par") == ["parse"]
    assert "--decoder" in completed("synparse parse --d")


def test_model_folders_as_arguments(call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in "12":
        shutil.copytree(model, f"runs/seed-{seed}")
    code, out, err = call(
        "eval", "--gold", "sample", "-m", "runs/seed-1", "runs/seed-2", "--max-length", "5", "--format", "json"
    )
    assert code == 0, err
    document = json.loads(out)
    assert [score["model"] for score in document["scores"]] == ["runs/seed-1", "runs/seed-2"]
    assert [group["systems"] for group in document["groups"]] == ["runs/seed-*"]


def test_every_setting_is_explained(call: Caller) -> None:
    lines = call.result("info", "--settings", "onlstm").splitlines()
    names = {line.partition(":")[0] for line in lines[1:]}
    config = resolve(model="onlstm")
    assert names == {*effective_settings(config), "loader.name", "optimizer.name"}
    assert "model.hidden_size: int, default 256; from 1 to 1e+09; units of a hidden layer" in lines
    clip = "optimizer.clip: float, default 0.25; from 1e-09 to 1e+09; limit of the global gradient norm"
    assert any(line.startswith(clip) for line in lines)


def finished(**settings: Any) -> Finished:
    return Finished("epochs", 1, 9, 1, 2.0, 60.0, "my run", **settings)


@pytest.mark.parametrize(
    ("event", "commands"),
    [
        (finished(gives="trees", on_sample=True), ["parse", "eval", "draw"]),
        (finished(gives="heads"), ["parse", "eval", "draw"]),
        (finished(), ["perplexity", "perplexity"]),
        (finished(purpose="listops", gives="trees"), ["task"]),
    ],
)
def test_suggested_commands_are_valid(event: Finished, commands: list[str]) -> None:
    lines = next_steps(event)
    assert lines[0].startswith("next: synparse ")
    typed = [shlex.split(line.removeprefix("next:").strip().partition("  ")[0]) for line in lines]
    assert [command for _, command, *_ in typed] == commands
    for _, command, *arguments in typed:
        assert arguments[arguments.index("-m") + 1] == "my run"
        called = synparse.get_command(click.Context(synparse), command)
        if isinstance(called, click.Group):
            called = called.get_command(click.Context(called), arguments.pop(0))
        assert called is not None
        called.make_context(command, arguments)


def test_all_models_of_several_seeds_are_scored() -> None:
    assert next_steps(finished(gives="trees"), "runs/seed-*") == [
        "next: synparse eval -m 'runs/seed-*' --gold TREEBANK  scores of the trees"
    ]


def test_a_model_or_an_output_named_twice_is_refused(call: Caller, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("a dog\n", encoding="utf-8")
    problem = call.usage("parse", "-m", model, "-m", model, text)
    assert problem == "Error: -m was given 2 times; to use several models, combine them: synparse combine"
    for command in ("cite", "info"):
        assert call.usage(command, model) == f"Error: unexpected argument '{model}'; name a model with -m"
    assert call.usage("parse", "-m", model, text, "-o", "a", "-o", "b") == "Error: -o was given 2 times"
    assert call.usage("train", text, "-o", "a", "-o", "b") == "Error: -o was given 2 times"
    for options, problem in (
        ("--model npcfg", "--heads trains several models; for one, use --preset dmv-content or dmv-function"),
        ("--seeds 1,2", "--heads trains several models; for one, use --preset dmv-content or dmv-function"),
        ("--recipe heads", "--heads chooses a recipe itself; with --recipe, order the styles in the file"),
    ):
        assert call.usage("train", text, "-o", "a", *options.split(), "--heads") == f"Error: {problem}"
    problem = call.usage("train", text, "-o", "a", "--seeds", "1,2")
    assert problem.startswith("Error: --seeds trains one model several times; name it with --model or --preset, or")
    problem = call.usage("train", text, "-o", "a", "--heads", "contents")
    assert problem == "Error: contents: neither a style of --heads (content or function) nor a text"
    for option, seeds in (("--seed", "4"), ("--seeds", "4-5")):
        message = call.usage("train", text, "-o", "a", option, seeds, "--set", "train.seed=3")
        assert "--set train.seed=3: --seed or --seeds gives the seed as well; leave out one of them" in message
    assert not Path("a").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *(("train", "in.txt", option, "") for option in ("-o", "--preset", "--recipe", "--seeds", "--trees")),
        ("task", "train", "listops", "--seeds", ""),
        ("combine", "baseline:right", "-o", ""),
        ("data", "prepare", "in.txt", "-o", ""),
    ],
)
def test_empty_values_do_not_mean_the_default(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("a dog\n", encoding="utf-8")
    assert call.usage(*arguments).endswith(": an empty value; give a value, or leave out the option")
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_folder_of_models_is_reported(call: Caller, model: Path, tmp_path: Path) -> None:
    for seed in "12":
        shutil.copytree(model, tmp_path / "runs" / f"seed-{seed}")
    hint = f"name one of them: -m {tmp_path / 'runs' / 'seed-1'}"
    assert call.refusal("info", "-m", tmp_path / "runs").endswith(
        f"this is a folder of models (seed-1, seed-2); {hint}"
    )


def test_unknown_citations_are_refused(call: Caller) -> None:
    assert "did you mean 'wsj10'?" in call.refusal("cite", "--gold", "wjs10", code=2)
    assert "no convention 'zz'" in call.refusal("cite", "--convention", "zz", code=2)
    assert "@software" in call.result("cite", "--convention", "udgn")


def test_an_output_among_the_files_of_a_folder_is_not_read(call: Caller, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a dog\n", encoding="utf-8")
    assert call("parse", "-m", model, tmp_path, "-o", tmp_path / "trees.out") == (0, "", "")
    assert (tmp_path / "trees.out").read_text(encoding="utf-8").count("\n") == 1


def test_outputs_of_synparse_are_not_read_as_texts(call: Caller, model: Path, tmp_path: Path) -> None:
    """A model folder contains a log, and parsed text must not be parsed again."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_text("a dog\n", encoding="utf-8")
    shutil.copytree(model, corpus / "runs" / "first")
    arguments = ("parse", "-m", model, corpus, "--output-dir", corpus / "parsed")
    for more in ((), ("--resume",)):
        code, out, err = call(*arguments, *more)
        assert code == 0, err
        assert f"leaving out what synparse wrote in {corpus}" in err
        assert [path.name for path in (corpus / "parsed").glob("*.trees*")] == ["a.txt.trees"]
    code, out, err = call("parse", "-m", model, corpus / "parsed", "--input-format", "brackets")
    assert (code, out.count("\n")) == (0, 1)


def test_folder_of_several_formats_is_read_in_the_most_frequent_one(call: Caller, tmp_path: Path) -> None:
    for name in ("a.mrg", "b.mrg"):
        (tmp_path / name).write_text("(S (A a) (B b))\n", encoding="utf-8")
    (tmp_path / "c.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    code, out, err = call("convert", tmp_path)
    assert (code, out) == (0, "(S (A a) (B b))\n" * 2)
    assert "reading 2 files (a.mrg, b.mrg), leaving out 1 file (c.conllu)" in err
