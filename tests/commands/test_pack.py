"""``synparse pack`` and ``synparse cite``."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.calls import Caller


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text."""
    Path("in.txt").write_text("the cat saw a dog\n", encoding="utf-8")


def test_packed_model_parses_like_its_folder(call: Caller, model: Path) -> None:
    Path("a.synparse.part").write_text("mine")
    message = call.result("pack", "-m", model, "-o", "a.synparse")
    assert Path("a.synparse.part").read_text() == "mine"
    assert message == f"a.synparse: sha256 {sha256(Path('a.synparse').read_bytes()).hexdigest()}\n"
    assert call.result("parse", "-m", "a.synparse", "in.txt") == call.result("parse", "-m", model, "in.txt")
    assert "model onlstm" in call.result("info", "-m", "a.synparse")


def test_ensemble_of_one_model_is_packed_as_this_model(call: Caller, model: Path) -> None:
    call.result("combine", model, "-o", "one")
    call.result("combine", model, "baseline:right", "-o", "two")
    assert call.result("pack", "-m", "one", "-o", "a.synparse") == call.result("pack", "-m", model, "-o", "a.synparse")
    refusal = call.refusal("pack", "-m", "two", "-o", "b.synparse")
    assert f"pack a member, such as -m {model}, or copy all members" in refusal
    assert "copy all members into a folder: synparse combine two --pack -o FOLDER" in refusal


def test_cite(call: Caller, model: Path) -> None:
    alone = call.result("cite")
    assert alone.startswith("@software{synparse,")
    assert alone.count("@") == 1
    cited = call.result("cite", "-m", model, "--gold", "wsj10", "--convention", "on-lstm", "--convention", "km")
    assert [line for line in cited.splitlines() if line.startswith("@")] == [
        "@software{synparse,",
        "@inproceedings{shen-etal-2019-onlstm,",
        "@article{marcus-etal-1993,",
        "@inproceedings{klein-manning-2002,",
    ]
    assert cited.count("{") == cited.count("}")
