"""The search for circles comes back as it was."""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.base.garbage import no_collections
from treebank.corpora.catalog import load_whole
from treebank.evaluate.evaluate import evaluate
from treebank.evaluate.plan import EvaluationPlan


@pytest.mark.parametrize("was_on", [True, False])
def test_it_is_off_inside_and_as_before_afterwards(was_on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with no_collections():
            assert not gc.isenabled()
        assert gc.isenabled() == was_on
        with suppress(KeyError), no_collections():
            raise KeyError
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()


def test_after_reading_and_scoring_and_after_an_error(tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text("(S (NP (DT the) (NN dog)) (VBZ barks))\n")
    assert gc.isenabled()
    assert evaluate(EvaluationPlan(gold=str(gold), predicted=[str(gold)])).scores[0].value == pytest.approx(100)
    assert gc.isenabled()
    gold.write_text("(S (NP (DT the)\n")
    with pytest.raises(TreebankError):
        load_whole(str(gold))
    assert gc.isenabled()


def test_what_was_made_inside_is_old_afterwards_and_what_was_frozen_stays_so() -> None:
    with no_collections():
        made = [[i] for i in range(1000)]
    assert made in gc.get_objects(generation=2)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_collections():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
