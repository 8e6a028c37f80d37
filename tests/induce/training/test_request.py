"""Requests: what a job of several runs stores, and what may change when it is resumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from induce.training.request import RunRequest
from treebank.base.errors import UsageError
from treebank.io.read import InputOptions

STORED = RunRequest(
    text=(__file__,),
    settings=("train.epochs=1", "model.layers=2"),
    seed=4,
    input_options=InputOptions(paragraphs=True),
)
RESUMED = RunRequest(run="run", resume=True)


def test_resumed_request_has_the_stored_values() -> None:
    resumed = STORED.resumed_by(RESUMED)
    assert resumed.input_options.paragraphs
    assert (resumed.text, resumed.seed, resumed.settings) == (STORED.text, 4, STORED.settings)
    assert resumed.stored() == STORED
    assert STORED.resumed_by(replace(resumed, resume=True)) == resumed


def test_settings_that_can_change_are_added() -> None:
    changed = STORED.resumed_by(replace(RESUMED, settings=("train.epochs=3",)))
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
        STORED.resumed_by(replace(RESUMED, **change))  # type: ignore[arg-type]
