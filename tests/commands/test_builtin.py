"""The built-in model: use without training, size, license, half precision, and choice as default."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import torch

import synparse
from bench.experiments.builtin import write_half
from induce.reporting.runs import RunStory
from induce.storage import builtin
from induce.storage.checkpoint import RecipeFacts, build_model, find, read, save
from induce.storage.model_file import model_parts
from tests.support.calls import Caller
from tests.support.reference import ROOT
from treebank.base.errors import SynparseError
from treebank.base.metadata import encode

LARGEST = 5_000_000  # bytes
TEXT = "The teacher saw the old man .\nThey think that the teacher will come tomorrow .\n"


@pytest.fixture(autouse=True)
def empty(working_folder: Path) -> None:
    """A folder in which nothing was trained, with a text."""
    Path("in.txt").write_text(TEXT, encoding="utf-8")


def test_before_any_training_the_built_in_model_parses_and_says_so(call: Caller) -> None:
    code, out, err = call("parse", "in.txt")
    assert code == 0
    origin = builtin.ORIGINS["english"]
    assert err == f"note: no model given and ./synparse-model does not exist; using the built-in english ({origin})\n"
    trees = out.splitlines()
    assert [re.findall(r"\(W ([^()]+)\)", tree) for tree in trees] == [line.split() for line in TEXT.splitlines()]
    assert "(X (W The) (W teacher))" in trees[0]  # what any model of English should know
    assert "(X (W saw) (X (W the) (X (W old) (W man))))" in trees[0]
    assert call("draw", "in.txt")[0] == 0
    assert call("parse", "in.txt", "-m", "english") == (0, out, "")
    assert call.result("info", "-m", "english").startswith("english: model chart, ")
    assert [str(tree) for tree in synparse.load().parse(TEXT.splitlines())] == trees


@pytest.mark.parametrize(("name", "path"), builtin.FILES.items())
def test_announced_score_of_a_built_in_model_is_that_of_its_training(name: str, path: Path) -> None:
    score = min(check.development_perplexity for check in read(path).facts.history)
    assert builtin.ORIGINS[name].endswith(f"; development perplexity {score:.1f}")


def test_default_model_is_announced_with_its_text_and_its_score(
    call: Caller, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNPARSE_MODEL", str(model))
    code, _, err = call("parse", "in.txt")
    assert code == 0
    facts = read(find(model)).facts
    assert f"note: no model given; using {model} (onlstm; trained on " in " ".join(err.split())
    assert f"{facts.training.words:,} words; development perplexity " in " ".join(err.split())


def test_interrupted_default_model_names_the_command_that_continues(
    call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, path = read(find(model)), tmp_path / "half.safetensors"
    recipe = RecipeFacts(name="best", seed=1, models=("npcfg-1",), finished=False, minutes=1.0)
    content = {key: trained.file.content[key] for key in ("torch", "settings")}
    facts = encode(replace(trained.facts, recipe=recipe))
    save(path, model_parts({**content, "facts": facts}, trained.file.words, trained.file.weights()))
    monkeypatch.setenv("SYNPARSE_MODEL", str(path))
    code, _, err = call("parse", "in.txt")
    assert code == 0
    note = " ".join(err.split())
    assert "(onlstm, recipe best; trained on " in note
    assert "its training was interrupted: continue with synparse train --resume" in note
    assert note.endswith("or use -m english")


def test_everyday_sentences_are_parsed_better_than_by_the_earlier_model(call: Caller) -> None:
    gold = str(ROOT / "tests" / "data" / "everyday.mrg")
    models = ("-m", "english", "-m", "english-grammar")
    options = ("--gold", gold, *models, "--baseline", "right", "--format", "json")
    english, grammar, right = (score["value"] for score in json.loads(call.result("eval", *options))["scores"])
    assert english > grammar > right


def test_heads_come_from_another_built_in_model(call: Caller) -> None:
    code, out, err = call("parse", "in.txt", "--format", "conllu")
    assert (code, "using the built-in english-heads (" in err) == (0, True)
    heads = [line.split("\t")[6] for line in out.splitlines() if line[:1].isdigit()]
    assert heads[0] == "2"  # The teacher
    assert heads[3:5] == ["6", "6"]  # the old man
    assert call("parse", "in.txt", "-m", "english-heads") == (0, out, "")


@pytest.mark.parametrize("command", ["parse", "draw"])
def test_text_that_does_not_fit_is_reported_once(call: Caller, command: str) -> None:
    Path("in.txt").write_text("Kedi köpeği gördü ve sonra eve gitti , çünkü çok yorgundu .\n" * 20, encoding="utf-8")
    code, _, err = call(command, "in.txt", "-m", "english")
    assert (code, err.count("note: "), "90% of the words are unknown" in err) == (0, 1, True)


def test_long_sentence_of_a_grammar_is_reported(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("induce.parsing.model_parser.LONG_COST", 1)
    code, _, err = call("parse", "in.txt", "-m", "english-grammar")
    assert code == 0
    problem = "takes long, because the time of model 'npcfg' grows with the square or the cube of the length"
    assert err == f"note: in.txt:1: a sentence of 6 words {problem}\nnote: in.txt:2: a sentence of 8 words {problem}\n"


@pytest.mark.parametrize("arguments", ["generate --limit 1", "perplexity in.txt", "analyze grammar"])
def test_commands_for_grammars_take_the_built_in_grammar(call: Caller, arguments: str) -> None:
    code, out, err = call(*arguments.split())
    assert (code, "using the built-in english-grammar (it learned from biomedical articles" in err) == (0, True)
    assert out


def test_folder_named_like_a_built_in_model_is_preferred() -> None:
    Path("english").mkdir()
    with pytest.raises(SynparseError, match="this folder holds no model"):
        find(Path("english"))


@pytest.mark.parametrize("name", builtin.FILES)
def test_file_is_small_and_contains_no_local_paths(name: str) -> None:
    assert builtin.FILES[name].stat().st_size < LARGEST
    facts = json.dumps(read(find(Path(name))).file.content["facts"])
    assert re.search(r'"(craft_train.txt.gz|english18.txt|english.txt)"', facts)
    assert not re.search(r'"/\w', facts)


def test_license_next_to_the_model_names_its_digest() -> None:
    licence = builtin.FILES["english"].with_name("LICENSE.md").read_text(encoding="utf-8")
    assert all(sha256(file.read_bytes()).hexdigest() in licence for file in builtin.FILES.values())
    assert all(
        said in licence
        for said in ("CC BY-SA 4.0", "CC BY 3.0", "no sentence can be restored", "bench/experiments/builtin.py")
    )
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'license-files = ["LICENSE", "induce/storage/builtin/LICENSE.md"]' in settings


def test_half_precision_halves_the_size_and_keeps_numbers_nearly_equal(call: Caller, model: Path) -> None:
    whole = read(find(model))
    write_half(model, "half.safetensors")
    half = read(Path("half.safetensors"))
    assert {value.dtype for value in half.weights().values()} == {torch.float16}
    assert len(half.file.weights()) < 0.6 * len(whole.file.weights())
    halved = build_model(half).state_dict()
    for name, value in build_model(whole).state_dict().items():
        assert halved[name].dtype == value.dtype
        torch.testing.assert_close(halved[name], value, rtol=1e-3, atol=1e-7)
    assert call.result("parse", "-m", "half.safetensors", "in.txt").count("\n") == 2


def test_report_names_initial_trees() -> None:
    assert RunStory.read("english").facts["trees"].startswith("parsed trees: ")


def test_files_of_models_among_predictions_are_scored_as_models(call: Caller) -> None:
    Path("gold.ptb").write_text("(S (NP the old man) (VP (V saw) (NP a dog)))\n", encoding="utf-8")
    for name in ("a.safetensors", "b.safetensors"):
        Path(name).write_bytes(builtin.FILES["english"].read_bytes())
    output = call.result("eval", "--gold", "gold.ptb", "-m", "a.safetensors", "b.safetensors", "english@priors=none")
    assert all(name in output for name in ("a.safetensors", "b.safetensors", "english@priors=none"))
    assert len(synparse.evaluate("gold.ptb", "a.safetensors", "english").scores) == 2
