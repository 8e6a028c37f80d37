"""Output files: their suffix names the format, and no command replaces what it reads or writes into a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text

TREE = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n"


@pytest.fixture(autouse=True)
def _files(call: Caller, model: Path, working_folder: Path) -> None:
    """A text, gold trees and the file of a model in the current folder."""
    Path("t.txt").write_text("the dog saw a cat\n")
    Path("g.mrg").write_text(TREE)
    Path("m.safetensors").write_bytes((model / "model.safetensors").read_bytes())


@pytest.mark.parametrize(
    "arguments",
    [
        "parse -m m.safetensors t.txt -o m.safetensors",
        "parse -m m.safetensors t.txt -o t.txt",
        "extract -m m.safetensors t.txt -o m.safetensors",
        "extract -m m.safetensors t.txt --what vectors -o m.safetensors",
        "perplexity -m m.safetensors t.txt -o m.safetensors",
        "perplexity -m m.safetensors t.txt --per sentence -o m.safetensors",
        "report -m m.safetensors --gold g.mrg -o g.mrg",
        "report -m m.safetensors --gold g.mrg -o m.safetensors",
        "convert g.mrg -o g.mrg",
        "analyze classes t.txt -o t.txt",
        "decode t.txt -o t.txt",
    ],
)
def test_file_that_is_read_is_not_replaced(call: Caller, arguments: str) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    *command, output = arguments.split()
    assert "this file is read, so it cannot be written as well" in call.refusal(*command, output)
    assert "there is no folder" in call.refusal(*command, f"no/{output}")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("name", ["scores.json", "sentences.tsv"])
def test_details_do_not_replace_what_is_read(call: Caller, name: str) -> None:
    Path("details").mkdir()
    Path("details", name).write_text(TREE)
    arguments = ("eval", "--baseline", "right", "--details", "details", "--gold")
    assert "this file is read" in call.refusal(*arguments, f"details/{name}")
    assert Path("details", name).read_text() == TREE
    call.result(*arguments, "g.mrg")
    assert "this is a file" in call.refusal("eval", "--gold", "g.mrg", "--baseline", "right", "--details", "t.txt")


def test_output_folder_is_not_inside_a_model(call: Caller, copy: Path) -> None:
    before = sorted(copy.rglob("*"))
    for folder in (copy, copy / "new"):
        problem = f"{folder}: this folder is a model and cannot contain other files; name another folder"
        assert call.refusal("parse", "-m", copy, "t.txt", "--output-dir", folder) == problem
        assert call.refusal("eval", "--gold", "g.mrg", "--baseline", "right", "--details", folder) == problem
    assert sorted(copy.rglob("*")) == before


@pytest.mark.parametrize("target", ["log.jsonl", "model.safetensors", "trees.txt"])
def test_model_folder_is_not_written_to(call: Caller, copy: Path, target: str) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for arguments in (["parse", "-m", copy, "t.txt"], ["convert", "g.mrg", "--format", "text"]):
        assert "this folder is a model" in call.refusal(*arguments, "-o", copy / target)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("train texts -o texts", "texts/t.txt: is read, so the output folder texts cannot replace it"),
        ("train texts/t.txt --dev dev.txt -o texts --overwrite", "texts/t.txt: is read"),
        ("train copy/log.jsonl -o copy --overwrite", "copy/log.jsonl: is read"),
        ("train dev.txt --model chart --teacher copy -o copy --overwrite", "copy: is read"),
        ("train dev.txt --set data.vocabulary=texts/t.txt -o texts", "texts/t.txt: is read"),
        ("train dev.txt --seeds 1,2 -o copy/new", "it would be inside COPY, which is a model"),
        ("train dev.txt --best -o copy/new", "it would be inside COPY, which is a model"),
        ("train dev.txt -o copy/new", "it would be inside COPY, which is a model"),
        ("task train listops -o copy/new", "it would be inside COPY, which is a model"),
        ("combine copy baseline:right -o copy/new", "it would be inside COPY, which is a model"),
        ("combine m.safetensors baseline:right -o copy/new", "it would be inside COPY, which is a model"),
        ("data prepare t.txt -o copy/new", "it would be inside COPY, which is a model"),
        ("data prepare t.txt -o t.txt", "t.txt: is read, so the output folder t.txt cannot replace it"),
    ],
)
def test_new_folder_is_not_inside_a_model_and_contains_nothing_that_is_read(
    call: Caller, copy: Path, arguments: str, problem: str
) -> None:
    copy.rename("copy")
    Path("dev.txt").write_text(toy_text(30))
    Path("texts").mkdir()
    Path("texts/t.txt").write_text("the\ndog\n")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert problem.replace("COPY", str(Path("copy").resolve())) in call.refusal(*arguments.split())
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("convert g.mrg -o o.jsonl", "o.jsonl: this command writes text, brackets, .*, not jsonl; choose one with"),
        ("generate -m english-grammar -o o.jsonl", "o.jsonl: this command writes brackets, text or conllu, not jsonl"),
        ("extract -m m.safetensors t.txt -o o.npz", "only --what vectors and --what states write .npz files"),
        ("extract -m m.safetensors t.txt --what distances -o o.npz", "only --what vectors and --what states write"),
    ],
)
def test_suffix_of_another_format_is_refused(call: Caller, arguments: str, problem: str) -> None:
    assert re.search(problem, call.usage(*arguments.split()))
    assert not list(Path().glob("o.*"))


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ("convert g.mrg -o o.conllu", "# sent_id"),
        ("convert g.mrg -o o.export", "#FORMAT 3"),
        ("convert g.mrg -o o.out", "(S (NP (DT the)"),
        ("convert g.mrg --format text -o o.conllu", "the dog saw a cat"),
        ("search NP g.mrg -o o.jsonl", '{"file": "g.mrg"'),
        ("phrases g.mrg -o o.csv", "words,label"),
    ],
)
def test_suffix_of_the_output_file_names_the_format(call: Caller, arguments: str, start: str) -> None:
    call.result(*arguments.split())
    assert Path(arguments.split()[-1]).read_text().startswith(start)
