"""Tests of the types of paths, the default model, and model specifications."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from induce.parsing.load import load_parser, read_trained
from induce.parsing.systems import evaluate_systems
from induce.storage.builtin import FILES
from induce.storage.locate import FAMILY, PathType, default_model, expand_models, locate, parse_model_spec
from treebank.base.errors import SynparseError

pytestmark = pytest.mark.usefixtures("working_folder")


@pytest.mark.parametrize(
    ("file", "type_"),
    [
        ("model.safetensors", PathType.MODEL),
        ("resume.safetensors", PathType.MODEL),
        ("best/checkpoint.json", PathType.MODEL),  # of an earlier version
        ("ensemble.json", PathType.ENSEMBLE),
        ("family.json", PathType.FAMILY),
        ("plan.json", PathType.JOB),
        ("synparse-batch.json", PathType.PARSED),
        ("corpus.json", PathType.CORPUS),
        ("text.txt", PathType.FOLDER),
        ("best/tree.txt", PathType.FOLDER),
    ],
)
def test_type_of_folder(file: str, type_: PathType) -> None:
    path = Path("folder", file)
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert locate("folder").type is type_
    assert locate("folder").is_model == (type_ in (PathType.MODEL, PathType.ENSEMBLE))


def test_type_of_files_and_names() -> None:
    assert locate("sample").type is PathType.TREEBANK
    assert locate("ctb-dev").type is PathType.TREEBANK
    assert locate("none").type is PathType.MISSING
    assert locate("english").path == FILES["english"]
    Path("copy").write_bytes(FILES["english"].read_bytes())
    assert locate("copy").type is PathType.MODEL_FILE
    for name in ("sample", "english"):  # an existing path comes first
        Path(name).write_text("x", encoding="utf-8")
        assert locate(name).type is PathType.FILE


def test_pipe_is_not_opened() -> None:
    """To open a named pipe would wait for a program that writes to it."""
    os.mkfifo("pipe")
    assert locate("pipe").type is PathType.FILE


def test_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    assert default_model(notes.append) == "english"
    assert "built-in" in notes.pop()
    Path("synparse-model").mkdir()
    assert default_model(notes.append) == "synparse-model"
    monkeypatch.setenv("SYNPARSE_MODEL", "mine")
    assert default_model(notes.append) == "mine"
    assert not notes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("run@lyer=2", "no option 'lyer'; did you mean 'layer'"),
        ("run@priors=branching:0.1,brackets:1", r"no option 'brackets:1'; write '\+' between priors"),
        ("run@layer=two", "layer cannot be 'two'"),
        ("run@layer=-1", "layers count from 1"),
        ("run@layer=0", "layer cannot be '0'.*layers count from 1, so there is no layer 0"),
        ("@layer=1", "^@layer=1: there is no model before the options"),
        ("", "^'': there is no model"),
        ("run@weight=0", "a number above 0"),
        ("run@weight=-2", "a number above 0"),
        ("run@weight=nan", "a number above 0"),
    ],
)
def test_invalid_options_are_refused(text: str, problem: str) -> None:
    with pytest.raises(SynparseError, match=problem):
        parse_model_spec(text)


def test_name_is_the_text_that_was_parsed() -> None:
    for text in (
        "run",
        "run@layer=2",
        "run@decoder=unbiased,layer=2,weight=0.5",
        "a@weight=0.3333333333",
        "a@b",
        "baseline:right@weight=2",
    ):
        assert parse_model_spec(text).name == text


def test_existing_path_is_not_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run@layer=2").mkdir()
    assert parse_model_spec("run@layer=2").path == "run@layer=2"


def test_pattern_keeps_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("seed-1", "seed-2"):
        Path(name).mkdir()
    Path(FAMILY).touch()
    assert expand_models(["*"]) == {"*": ["seed-1", "seed-2"]}
    assert expand_models(["ours=*"]) == {"ours": ["ours seed-1=seed-1", "ours seed-2=seed-2"]}
    assert expand_models(["seed-*@layer=1"]) == {"seed-*@layer=1": ["seed-1@layer=1", "seed-2@layer=1"]}
    with pytest.raises(SynparseError, match="no model folder matches"):
        expand_models(["none-*@layer=1"])


def test_specification_is_accepted_by_loading_and_scoring() -> None:
    assert load_parser("english-grammar@decoder=brackets").decoder == "brackets"
    with pytest.raises(SynparseError, match="only the members of an ensemble have a weight"):
        load_parser("english-grammar@weight=2")
    with pytest.raises(SynparseError, match="leave out @decoder"):
        read_trained("english-grammar@decoder=brackets")
    gold = "tests/data/none.mrg"
    with pytest.raises(SynparseError, match=r"none\.mrg"):
        evaluate_systems(gold, ["english-grammar@decoder=brackets"])


@pytest.mark.parametrize(
    ("text", "label", "path"),
    [
        ("ours=runs/a@layer=2", "ours", "runs/a"),
        ("C-PCFG 2=a", "C-PCFG 2", "a"),
        ("runs/lr=0.1", "", "runs/lr=0.1"),
        ("lr=0.1", "", "lr=0.1"),
        ("lr=0.1@layer=2", "", "lr=0.1"),
        ("lr=*", "", "lr=*"),
        ("ours=lr=0.1", "ours", "lr=0.1"),
    ],
)
def test_name_precedes_a_path_that_does_not_exist(working_folder: Path, text: str, label: str, path: str) -> None:
    Path("lr=0.1").mkdir()
    spec = parse_model_spec(text)
    assert (spec.label, spec.path, spec.name) == (label, path, text)


def test_two_models_cannot_have_one_name() -> None:
    with pytest.raises(SynparseError, match="b=y: there is another model with this name") as error:
        expand_models(["b=x", "a=x", "b=y"])
    assert "choose different names" in str(error.value)
