"""Requests of jobs of several runs: what is stored, and what may change when they are resumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from induce.training.job import StoredRequest
from induce.training.request import RunRequest
from treebank.base.errors import UsageError
from treebank.io.read import InputOptions

STORED = StoredRequest(text=(__file__,), settings=("train.epochs=1", "model.layers=2"), seed=4, paragraphs=True)
RESUMED = RunRequest(run="run", resume=True)


def test_resumed_request_has_the_stored_values() -> None:
    resumed = STORED.resumed(RESUMED)
    assert resumed.input_options.paragraphs
    assert (resumed.text, resumed.seed, resumed.settings) == (STORED.text, 4, STORED.settings)
    assert StoredRequest.of(resumed) == STORED
    assert STORED.resumed(replace(resumed, resume=True)) == resumed


def test_settings_that_can_change_are_added() -> None:
    changed = STORED.resumed(replace(RESUMED, settings=("train.epochs=3",)))
    assert changed.settings == ("train.epochs=1", "model.layers=2", "train.epochs=3")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"settings": ("model.layers=3",)}, "--set model.layers=3: on --resume only train.epochs and"),
        ({"seed": 5}, "--seed cannot change on --resume: the run keeps 4"),
        ({"dev": ("a.txt",)}, "--dev cannot change on --resume: the run keeps none"),
        ({"teachers": ("a", "b")}, "--teacher cannot change on --resume: the run keeps none"),
        ({"input_options": InputOptions(tokenize="english")}, "--tokenizer cannot change"),
    ],
)
def test_other_changes_are_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        STORED.resumed(replace(RESUMED, **change))  # type: ignore[arg-type]
