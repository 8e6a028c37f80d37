"""BibTeX entries of models, treebanks and conventions."""

from __future__ import annotations

from induce.citation import CONVENTIONS, MODELS, PENN_TREEBANK, citations, read_entries
from induce.registry import MODELS as TEXT_MODELS
from induce.registry import TASKS
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS
from treebank.evaluate.conventions import CONVENTIONS as BRACKET_CONVENTIONS


def test_every_registered_model_has_entries() -> None:
    registered = {*TEXT_MODELS, *(name for task in TASKS.values() for name in task.models)}
    assert registered == set(MODELS)


def test_every_key_has_a_well_formed_entry() -> None:
    entries = read_entries()
    keys = {PENN_TREEBANK, *CONVENTIONS.values(), *(key for keys in MODELS.values() for key in keys)}
    assert keys == set(entries)
    assert all(entry.count("{") == entry.count("}") for entry in entries.values())


def test_conventions_exist() -> None:
    assert set(CONVENTIONS) <= {*BRACKET_CONVENTIONS, *ATTACHMENT_CONVENTIONS}


def test_each_entry_is_printed_once() -> None:
    entries = citations("prpn-syd", ["wsj10", "wsj40"], ["on-lstm"])
    assert len(entries) == len(set(entries)) == 5
    assert len(citations("toy")) == 1
