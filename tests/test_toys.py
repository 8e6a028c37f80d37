"""Components of one file each, in ``tests/toys``, which a package adds by its entry point and all commands use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import synparse
from induce.registry import DECODERS, MODELS, PRIORS, PURPOSES, DecoderEntry, add_extensions
from induce.storage import checkpoint
from induce.structures import SpanScores
from tests.support.calls import ENVIRONMENT, Caller, toy_text
from tests.support.pages import fences
from tests.support.reference import ROOT
from tests.support.tiny import assert_equal_weights, stop_after
from tests.support.working_folder import write
from tests.toys import task_parity
from tests.toys.extension import TOYS

LINES = ["The cat saw , they say , a big dog .", "", "Yes", "the dog met a man"]


@pytest.fixture(autouse=True)
def installed(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a text and the presets of the toys, and an installed package whose entry point adds the toys."""
    for table in (MODELS, PURPOSES, DECODERS, PRIORS):
        monkeypatch.setattr(table, "entries", dict(table.entries))
    Path("toys-1.0.dist-info").mkdir()
    write("toys-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    write("toys-1.0.dist-info/entry_points.txt", "[synparse]\ntoys = tests.toys.extension:add\n")
    monkeypatch.syspath_prepend(working_folder)
    add_extensions()
    write("text.txt", toy_text(60))
    write("parity.toml", task_parity.PRESET)
    for name in TOYS:
        write(f"{name}.toml", import_module(f"tests.toys.{name}").PRESET)


@pytest.fixture(params=TOYS)
def toy(request: pytest.FixtureRequest) -> str:
    """The name of a toy, with sentences and gold files in the current folder."""
    write("lines.txt", "\n".join(LINES) + "\n")
    write("gold.mrg", "(S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))))\n")
    words = [("The", 2), ("cat", 3), ("saw", 0), ("a", 5), ("dog", 3)]
    rows = [f"{i}\t{word}\t_\t_\t_\t_\t{head}\tdep\t_\t_" for i, (word, head) in enumerate(words, 1)]
    write("gold.conllu", "\n".join(rows) + "\n\n")
    return str(request.param)


@pytest.mark.parametrize("failure", ["import nowhere", "1 / 0", "raise SystemExit(3)", "def add(x): pass"])
def test_broken_package_is_named_and_the_others_are_added(failure: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken-1.0.dist-info").mkdir()
    write("broken.py", f"{failure}\n")
    write("broken-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    write("broken-1.0.dist-info/entry_points.txt", "[synparse]\nbroken = broken:add\n")
    sys.modules.pop("broken", None)
    MODELS.entries.pop(TOYS[0])
    add_extensions()
    assert capsys.readouterr().err.startswith("warning: broken cannot be used (")
    assert TOYS[0] in MODELS


@pytest.mark.parametrize("module", ["decoding.specification", "models.base", "storage.checkpoint", "settings.run"])
def test_package_is_found_whatever_is_imported_first(module: str) -> None:
    program = f"import induce.{module}; from induce.registry import MODELS; print(*(set({TOYS!r}) - {{*MODELS}}))"
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{Path.cwd()}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_from_text_to_scores(toy: str, call: Caller) -> None:
    call.result("train", "text.txt", "--model", toy, "-o", "run")
    parsed = call.result("parse", "lines.txt", "-m", "run")
    Path("lines.jsonl").write_text(call.result("extract", "lines.txt", "-m", "run"), "utf-8")
    assert call.result("decode", "lines.jsonl") == parsed
    parser = synparse.load("run")
    leaves = (
        [tree.words for tree in parser.parse(LINES)]
        if parser.output == "trees"
        else [tuple(words) for words, _ in parser.parse_heads(LINES)]
    )
    assert leaves == [tuple(line.split()) for line in LINES]
    gold = "gold.mrg" if parser.output == "trees" else "gold.conllu"
    scores = call.json("eval", "--gold", gold, "-m", "run")["scores"]
    assert {score["metric"] for score in scores} == ({"UF1"} if parser.output == "trees" else {"UAS", "UUAS"})
    assert all(0 <= score["value"] <= 100 for score in scores)
    facts = call.result("info", "-m", "run")
    assert f"model {toy}" in facts
    assert "data.joining_marks=false" in " ".join(facts.split())


@pytest.mark.parametrize(("name", "entries"), [("toy_spans", 2), ("toy_heads", 1)])
def test_model_is_cited_by_the_entries_of_its_class(call: Caller, name: str, entries: int) -> None:
    call.result("train", "text.txt", "--model", name, "-o", "run")
    cited = call.result("cite", "-m", "run")
    assert cited.count("@") == entries
    assert ("@misc{toys,\n  title = {Toys},\n}\n" in cited) == (entries == 2)


def test_confidence_sharpness_drawing_voting_and_likelihood(toy: str, call: Caller) -> None:
    """The methods are those of the model's class and of its structure."""
    call.result("train", "text.txt", "--model", toy, "-o", "run")
    parser = synparse.load("run")
    if parser.output == "trees":
        lines = call.result("parse", "lines.txt", "-m", "run", "--format", "jsonl").splitlines()
        confidences = [json.loads(line).get("confidence") for line in lines]
        assert any(isinstance(value, float) for value in confidences) == (toy != "toy_brackets")
    if toy in ("toy_heads", "toy_rules", "toy_structure"):
        sharpness = call.json("analyze", "sharpness", "lines.txt", "-m", "run")
        assert all(value >= 0 for system in sharpness["systems"] for value in system["values"].values())
    assert "cat" in call.result("draw", "lines.txt", "-m", "run")
    call.result("combine", "run", "run@weight=2", "-o", "both")
    assert synparse.load("both").output == parser.output
    parsed = call.result("parse", "lines.txt", "-m", "run")
    if parser.output == "trees" and toy != "toy_brackets":  # heads are decoded again, labels do not vote
        assert call.result("parse", "lines.txt", "-m", "both") == parsed
    if toy in ("toy_rules", "toy_structure", "toy_fitted"):
        call.result("perplexity", "lines.txt", "-m", "run")
    if toy == "toy_structure":
        call.result("combine", "run", "--votes", "marginals", "-o", "sums")
        assert call.result("parse", "lines.txt", "-m", "sums") == parsed


@pytest.mark.parametrize("toy", ["toy_structure"], indirect=True)
def test_structure_from_outside_has_a_decoder_with_an_option_k_best_trees_and_a_prior(toy: str, call: Caller) -> None:
    call.result("train", "text.txt", "--model", toy, "-o", "run")
    Path("lines.jsonl").write_text(call.result("extract", "lines.txt", "-m", "run"), "utf-8")
    named = call.result("decode", "lines.jsonl", "--decoder", "edges:end_weight=1")
    assert named == call.result("decode", "lines.jsonl") == call.result("decode", "lines.jsonl", "--decoder", "edges:1")
    parser = synparse.load("run", decoder="edges:0")
    assert parser.decoder == "edges:0"
    (ranked,) = parser.parse_k_best([LINES[3]], 3)
    assert len(ranked) == 3
    assert ranked[0].tree == next(parser.parse([LINES[3]]))
    assert "|priors:first-words:0.5" in synparse.load("run", priors="first-words:0.5").decoded
    call.result("parse", "lines.txt", "-m", "run", "--priors", "first-words:0.5")


def test_cut_off_and_resumed(toy: str) -> None:
    list(synparse.trainer("text.txt", run="whole", model=toy).train())
    list(synparse.trainer("text.txt", run="cut", model=toy).train(stop=stop_after(1)))
    assert (
        checkpoint.read(Path("cut/resume.safetensors")).facts.step
        < checkpoint.read(Path("whole/resume.safetensors")).facts.step
    )
    list(synparse.trainer(run="cut", resume=True).train())
    assert_equal_weights(Path("whole"), Path("cut"))


def test_phrases_have_the_labels_of_their_model() -> None:
    parser = synparse.train("text.txt", run="run", model="toy_brackets")
    assert str(next(parser.parse("the cat , a dog"))) == "(X (F (W the) (W cat)) (W ,) (F (W a) (W dog)))"


def test_task_is_one_file(call: Caller) -> None:
    """A task from outside the package trains, is scored on files and has a score in JSON."""
    write("test.txt", "1 0 1\n1 1 1 0\n0 0\n" + "1 0 " * 6 + "\n")
    call.result("task", "train", "parity", "-o", "run")
    document = call.json("task", "eval", "parity", "test.txt", "-m", "run")
    (score,) = document["scores"]
    assert {name: count for name, (_, count) in score["groups"].items()} == {"learned": 3, "longer": 1}
    assert 0 <= score["value"] <= 100


def test_recipe_of_models_from_outside(call: Caller) -> None:
    part = '[[part]]\nname = "{0}"\npresets = ["toy_{0}.toml"]\nminutes = 0.1\n'
    write("toys.toml", 'name = "toys"\nminutes = 0.2\n' + part.format("spans") + part.format("structure"))
    call.result("train", "text.txt", "--recipe", "toys.toml", "-o", "run")
    parser = synparse.load("run")
    assert [member.name for member in parser.description.members] == ["parts/spans-1", "parts/structure-1"]
    assert [tree.words for tree in parser.parse(LINES)] == [tuple(line.split()) for line in LINES]


def test_model_of_a_package_that_is_not_installed_is_not_called_damaged(call: Caller) -> None:
    call.result("train", "text.txt", "--model", "toy_distances", "-o", "run")
    del MODELS.entries["toy_distances"]
    error = call.refusal("info", "-m", "run")
    assert "there is no model 'toy_distances'" in error
    assert "install the package that has it" in error
    assert "damaged" not in error


def test_complete_example_of_the_documentation_trains_and_is_found_by_its_entry_point(call: Caller) -> None:
    page = "docs/development/extending.md"
    preset, project = fences(page, "toml")
    write("bigram.py", fences(page, "python")[0])
    write("bigram.toml", preset)
    write("text.txt", "the old man saw a dog\n" * 40)
    module, function = tomllib.loads(project)["project"]["entry-points"]["synparse"]["bigram"].split(":")
    getattr(import_module(module), function)()
    call.result("train", "text.txt", "--model", "bigram", "-o", "run")
    assert call.result("parse", "text.txt", "-m", "run").count("(W dog)") == 40


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("tests.toys.toy_bracket:decode", "there is no module 'tests.toys.toy_bracket'"),
        ("tests.toys.toy_brackets:decoder", "tests.toys.toy_brackets has no 'decoder'"),
    ],
)
def test_misspelled_location_is_named(location: str, problem: str, call: Caller) -> None:
    DECODERS.add("misspelled", DecoderEntry(location, SpanScores))
    assert f"{location}: {problem}" in call.refusal("parse", "text.txt", "-m", "english", "--decoder", "misspelled")
