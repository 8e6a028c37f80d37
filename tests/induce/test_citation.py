"""BibTeX entries of models, treebanks and conventions."""

from __future__ import annotations

from pathlib import Path

from induce.citation import CONVENTIONS, DISTANCES, MODELS, PENN_TREEBANK, SOFTMAXES, citations, read_entries
from induce.registry import MODELS as TEXT_MODELS
from induce.registry import PURPOSES
from tests.support.calls import Caller
from tests.support.tiny import settings, train
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS
from treebank.evaluate.conventions import CONVENTIONS as BRACKET_CONVENTIONS


def test_every_registered_model_has_entries() -> None:
    registered = {*TEXT_MODELS, *(name for task in PURPOSES.values() for name in task.models)}
    assert registered == set(MODELS)


def test_every_key_has_a_well_formed_entry() -> None:
    entries = read_entries()
    keys = {
        PENN_TREEBANK,
        SOFTMAXES,
        *CONVENTIONS.values(),
        *DISTANCES.values(),
        *(key for keys in MODELS.values() for key in keys),
    }
    assert keys == set(entries)
    assert all(entry.count("{") == entry.count("}") for entry in entries.values())


def test_conventions_exist() -> None:
    assert set(CONVENTIONS) <= {*BRACKET_CONVENTIONS, *ATTACHMENT_CONVENTIONS}


def test_each_entry_is_printed_once() -> None:
    entries = citations(MODELS["prpn-syd"], ["wsj10", "wsj40"], ["on-lstm"], ["hellinger", "jsd", "impact", "lm"])
    assert len(entries) == len(set(entries)) == 7
    assert [entry.count("Perturbed Masking") for entry in entries].count(1) == 1
    assert len(citations()) == 1


def test_optional_parts_and_distances_of_a_model_are_cited(call: Caller, tmp_path: Path) -> None:
    train(settings("lstm", "train.epochs=1", "model.softmaxes=2"), tmp_path / "lstm")
    assert "Breaking the Softmax Bottleneck" in call.result("cite", "-m", tmp_path / "lstm")
    train(settings("lstm", "train.epochs=1"), tmp_path / "plain")
    plain = call.result("cite", "-m", f"{tmp_path / 'plain'}@distances=hellinger:2")
    assert "Softmax" not in plain
    assert "Are Pre-trained Language Models Aware of Phrases" in plain
    assert "Perturbed Masking" in call.result("cite", "--distances", "impact")
    assert "did you mean 'hellinger'" in call.refusal("cite", "--distances", "helinger", code=2)
