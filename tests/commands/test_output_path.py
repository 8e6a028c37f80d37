"""Output files: their suffix names the format, and no command replaces what it reads or writes into a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.command import walk_commands
from cli.main import synparse
from tests.support.calls import TINY, Caller, toy_text

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
    call.result(*arguments, "g.mrg", "--overwrite")
    assert "this is a file" in call.refusal("eval", "--gold", "g.mrg", "--baseline", "right", "--details", "t.txt")


OWN = "a file of the user\n"
DEFAULTS = [  # command, and a file whose name the user does not give
    ("browse g.mrg", "corpus.html"),
    ("report -m m.safetensors --gold g.mrg", "report.html"),
    ("sample -m m.safetensors t.txt --count 1", "check.html"),
    ("eval --gold g.mrg --baseline right --details .", "scores.json"),
    ("eval --gold g.mrg --baseline right --details .", "sentences.tsv"),
]
FOLDERS = [  # the same for files in folders that hold a model, a corpus or parsed text
    ("train d.txt --model onlstm", "synparse-model"),
    ("train d.txt --model onlstm", "synparse-model/own.txt"),
    ("train d.txt --model onlstm", "synparse-model/log.jsonl"),
    ("train d.txt --seeds 1,2 -o runs", "runs/seed-1"),
    ("combine m.safetensors baseline:right -o both", "both/ensemble.json"),
    ("combine m.safetensors baseline:right -o both", "both/own.txt"),
    ("data prepare d.txt -o corpus", "corpus/corpus.json"),
    ("parse -m m.safetensors t.txt --output-dir out", "out/t.trees"),
    ("parse -m m.safetensors t.txt --output-dir out", "out/t.txt"),
]


@pytest.mark.parametrize(("arguments", "name"), DEFAULTS)
def test_file_of_another_program_is_replaced_only_if_asked(call: Caller, arguments: str, name: str) -> None:
    call.result(*arguments.split())
    call.result(*arguments.split())  # a file of synparse is replaced
    Path(name).write_text(OWN)
    assert re.match(rf"(\./)?{name}: not written by synparse; move it, .*--overwrite", call.refusal(*arguments.split()))
    assert Path(name).read_text() == OWN
    call.result(*arguments.split(), "--overwrite")
    assert Path(name).read_text() != OWN


@pytest.mark.parametrize(("arguments", "name"), FOLDERS)
def test_file_in_an_output_folder_is_not_replaced(call: Caller, arguments: str, name: str) -> None:
    Path("d.txt").write_text(toy_text(30))
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(OWN)
    short = ["--model", "onlstm", "--max-minutes", "0.01", *TINY] if arguments.startswith("train") else []
    call(*arguments.split(), *short)
    assert Path(name).read_text() == OWN


def test_every_default_name_of_a_file_is_tested() -> None:
    defaults = {
        parameter.default
        for _, command in walk_commands(synparse, "synparse")
        for parameter in command.params
        if isinstance(parameter.default, str) and Path(parameter.default).suffix
    }
    assert defaults == {name for _, name in DEFAULTS if name.endswith(".html")}


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
        ("train texts --model onlstm -o texts", "texts/t.txt: is read, so the output folder texts cannot replace it"),
        ("train texts/t.txt --model onlstm --dev dev.txt -o texts --overwrite", "texts/t.txt: is read"),
        ("train copy/log.jsonl --model onlstm -o copy --overwrite", "copy/log.jsonl: is read"),
        ("train dev.txt --model chart --teacher copy -o copy --overwrite", "copy: is read"),
        ("train dev.txt --set data.vocabulary=texts/t.txt -o texts", "texts/t.txt: is read"),
        ("train dev.txt --model onlstm --seeds 1,2 -o copy/new", "it would be inside COPY, which is a model"),
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
        ("parse -m m.safetensors t.txt -o o.svg", "o.svg: this command writes brackets, .*, not .svg"),
        ("phrases g.mrg -o o.xlsx", "o.xlsx: this command writes table, .*, not .xlsx"),
        ("search NP g.mrg -o o.pdf", "o.pdf: this command writes brackets, .*, not .pdf"),
        ("generate -m english-grammar -o o.jsonl", "o.jsonl: this command writes brackets, text or conllu, not jsonl"),
        ("extract -m m.safetensors t.txt -o o.npz", "only --what vectors and --what states write .npz files"),
        ("extract -m m.safetensors t.txt --what distances -o o.npz", "only --what vectors and --what states write"),
        (
            "extract -m m.safetensors t.txt -o o.mrg",
            "o.mrg: this command writes jsonl, not brackets; name another file",
        ),
        ("browse g.mrg -o o.mrg", "o.mrg: this command writes html, not brackets"),
        ("sample g.mrg -o o.conllu", "o.conllu: this command writes html, not conllu"),
        ("report -m m.safetensors -o o.pdf", "o.pdf: this command writes html, not .pdf"),
        ("analyze classes t.txt -o o.conllu", "o.conllu: this command writes tsv, not conllu"),
        ("decode d.jsonl -o o.conllu", "o.conllu: this command writes brackets, not conllu"),
        ("combine baseline:right -o o.mrg", "o.mrg: a folder is written, not a file in format brackets"),
        ("data prepare t.txt -o o.conllu", "o.conllu: a folder is written, not a file in format conllu"),
    ],
)
def test_suffix_of_another_format_is_refused(call: Caller, arguments: str, problem: str) -> None:
    Path("d.jsonl").write_text('{"distances": [0, 2, 1]}\n')
    assert re.search(problem, call.usage(*arguments.split()))
    assert not list(Path().glob("o.*"))


@pytest.mark.parametrize(
    "arguments",
    [
        "search NP g.mrg --format csv -o o.xlsx",
        "phrases g.mrg -o o.ods --format csv",
        "convert g.mrg --format text -o o.docx",
        "generate -m english-grammar --format text -o o.pdf",
    ],
)
def test_text_is_not_written_into_a_file_with_a_binary_suffix(call: Caller, arguments: str) -> None:
    assert "this command writes text, not ." in call.refusal(*arguments.split())
    assert not list(Path().glob("o.*"))


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ("convert g.mrg -o o.conllu", "# sent_id"),
        ("convert g.mrg -o o.export", "#FORMAT 3"),
        ("convert g.mrg -o o.out", "(S (NP (DT the)"),
        ("convert g.mrg --format text -o o.conllu", "the dog saw a cat"),
        ("search NP g.mrg -o o.jsonl", '{"file": "g.mrg"'),
        ("phrases g.mrg -o o.csv", "\ufeffwords,label"),
        ("phrases g.mrg -o o.tex", "% \\usepackage{booktabs}\n\\begin{tabular}"),
        ("search NP g.mrg -o o.html", "<!DOCTYPE html>"),
    ],
)
def test_suffix_of_the_output_file_names_the_format(call: Caller, arguments: str, start: str) -> None:
    call.result(*arguments.split())
    assert Path(arguments.split()[-1]).read_text().startswith(start)


@pytest.mark.parametrize(
    "arguments",
    [
        "phrases g.mrg",
        "search NP g.mrg",
        "search NP g.mrg --format count",
        "convert g.mrg",
        "parse -m m.safetensors t.txt",
        "extract -m m.safetensors t.txt",
        "perplexity -m m.safetensors t.txt",
        "perplexity -m m.safetensors t.txt --per sentence",
        "generate -m english-grammar",
        "browse g.mrg",
    ],
)
def test_hyphen_means_standard_output(call: Caller, arguments: str) -> None:
    code, text, _ = call(*arguments.split(), "-o", "-")
    assert (code, Path("-").exists()) == (0, False)
    if "browse" not in arguments:
        assert text == call.result(*arguments.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "train t.txt -o -",
        "train t.txt --model onlstm --seeds 1,2 -o -",
        "combine m.safetensors baseline:right -o -",
        "data prepare t.txt -o -",
        "parse -m m.safetensors t.txt --output-dir -",
        "eval --gold g.mrg --baseline right --details -",
    ],
)
def test_folder_is_not_written_to_standard_output(call: Caller, arguments: str) -> None:
    assert "cannot be written to standard output; name a" in call.refusal(*arguments.split(), code=2)
    assert not Path("-").exists()
