"""Extraction of sentence vectors, and fine-tuning on rated pairs, from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cli.main import run as run_cli
from induce.storage.checkpoint import read
from tests.support.calls import Caller, set_options, toy_text

OTHER = "A man met a dog ."
PAIRS = "".join(
    f"main-{genre}\tx\t2015\t{number}\t{rating}\t{line}\t{line if rating == 5 else OTHER}\n"
    for number, line in enumerate(toy_text(24).splitlines())
    for genre, rating in [("news", 5 - 4 * (number // 2 % 2)) if number % 2 else ("forums", 5 - 4 * (number // 2 % 2))]
)
TUNED = set_options("train.epochs=2", "loader.batch_size=4", "optimizer.learning_rate=0.01")


@pytest.fixture(scope="module")
def folder(tiny_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a tiny UDGN and a copy fine-tuned with its parser frozen. Tests must not change it."""
    path = tmp_path_factory.mktemp("similarity")
    (path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    (path / "udgn").symlink_to(tiny_model("udgn"))
    pretrained = set_options(f"task.pretrained={path / 'udgn'}", "model.frozen=parser")
    tuned = ["task", "train", "similarity", str(path / "pairs.csv"), "-o", str(path / "tuned"), *pretrained, *TUNED]
    assert run_cli(tuned) == 0
    return path


def test_extract_writes_a_vector_per_sentence(call: Caller, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("The dog saw a cat .\n.\nThe dog\n", encoding="utf-8")
    lines = [json.loads(line) for line in call.result("extract", "--what", "vectors", text, "-m", model).splitlines()]
    assert [len(line["words"]) for line in lines] == [5, 0, 2]
    assert {len(line["vector"]) for line in lines} == {16}
    assert lines[1]["vector"] == [0] * 16
    assert call.result("extract", "--what", "vectors", text, "-m", model, "-o", tmp_path / "out.npz") == ""
    arrays = np.load(tmp_path / "out.npz")
    assert arrays["words"].tolist() == [5, 0, 2]
    np.testing.assert_allclose(arrays["vectors"], [line["vector"] for line in lines], atol=1e-6)
    (tmp_path / "empty.txt").write_text(".\n", encoding="utf-8")
    empty = call.result("extract", "--what", "vectors", tmp_path / "empty.txt", "-m", model)
    assert json.loads(empty)["vector"] == [0] * 16


def test_fine_tuning_keeps_words_settings_and_frozen_trees(call: Caller, folder: Path) -> None:
    (folder / "in.txt").write_text("The dog saw a cat .\nthe old man met the woman\n", encoding="utf-8")
    trees = [call.result("parse", folder / "in.txt", "-m", folder / name) for name in ("udgn", "tuned")]
    assert trees[0] == trees[1]
    vectors = [
        call.result("extract", "--what", "vectors", folder / "in.txt", "-m", folder / name)
        for name in ("udgn", "tuned")
    ]
    assert vectors[0] != vectors[1]
    words = [read(folder / name / "model.safetensors").vocabulary.words for name in ("udgn", "tuned")]
    assert words[0] == words[1]
    info = call.result("info", "-m", folder / "tuned")
    assert "model.frozen=parser" in info
    assert "development squared error by epoch:" in info
    assert "model.embedding_size=16" in info


@pytest.mark.parametrize("name", ["gumbel-tree-lstm", "crvnn"])
def test_encoder_of_expressions_learns_vectors_of_sentences(call: Caller, folder: Path, name: str) -> None:
    run, pairs = folder / name, folder / "pairs.csv"
    _, _, messages = call(
        "task", "train", "similarity", pairs, "--model", name, "-o", run, *TUNED, "--set", "model.hidden_size=8"
    )
    assert messages.splitlines()[-1].startswith(f"next: synparse task eval similarity FILE -m {run} ")
    score = call.json("task", "eval", "similarity", pairs, "-m", run)["scores"][1]
    assert score["value"] > 0.2
    text = folder / "one.txt"
    text.write_text("The dog saw a cat .\n", encoding="utf-8")
    assert len(json.loads(call.result("extract", "--what", "vectors", text, "-m", run))["vector"]) == 8
    assert call.result("parse", text, "-m", run).count("(X") == 4


def test_eval_reports_correlations_of_files_and_genres(call: Caller, folder: Path) -> None:
    command = ["task", "eval", "similarity", folder / "pairs.csv", "-m", folder / "udgn", "-m", folder / "tuned"]
    lines = call.result(*command).splitlines()
    assert lines[1].split()[:4] == ["System", "Measure", "Mean", "pairs.csv"]
    assert [line.split()[0] for line in lines[3:9:2]] == ["bag-of-words", str(folder / "udgn"), str(folder / "tuned")]
    assert re.search(r"\|model:udgn\|checkpoint:\w{8}\|fine-tuned\|task:similarity\|", lines[-1])
    report = call.json(*command)
    assert report["pairs"] == {"pairs.csv": 24, "pairs.csv: main-forums": 12, "pairs.csv: main-news": 12}
    correlation = report["scores"][2]["groups"]["pairs.csv"]["spearman"]
    assert report["scores"][2]["value"] == correlation["value"]
    assert correlation["interval"][0] <= correlation["value"] <= correlation["interval"][1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("train similarity -o x", "task similarity learns from rated pairs; name their files"),
        ("eval similarity -m {udgn}", "task similarity: name the files of rated pairs"),
        (
            "train similarity {pairs} -o x --model transformer --set task.pretrained={udgn}",
            "--model transformer: {udgn} is a model 'udgn'",
        ),
        (
            "train similarity {pairs} -o x --set task.pretrained={tuned}",
            "{tuned}: this is a model 'udgn', which has learned the task similarity; a pretrained udgn",
        ),
    ],
)
def test_invalid_requests_are_refused(
    call: Caller, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"udgn": folder / "udgn", "tuned": folder / "tuned", "pairs": folder / "pairs.csv"}
    message = call.refusal("task", *arguments.format(**names).split())
    assert message.startswith(problem.format(**names))
