"""Settings that are names or switches, from the command line and from a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

from induce.config import RunConfig, default_layer
from induce.settings import resolve
from induce.training.compatibility import check_fits
from treebank.base.errors import SynparseError


def test_names_and_switches_are_set_and_stored() -> None:
    changes = ["model.gate=soft", "model.tied_embeddings=false", "model.residual_blocks=0", "data.reading=stream"]
    config = resolve(model="prpn", settings=changes)
    assert config.model["gate"] == "soft"
    assert config.model["tied_embeddings"] is False
    assert RunConfig.from_dict(config.as_dict()) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.tied_embeddings=no", "write true or false"),
        ("model.residual_blocks=-1", "model.residual_blocks = -1 must lie between 0 and"),
        ("model.slots=0", "model.slots = 0 must lie between 1 and"),
        ("data.reading=sentence", "there is no reading 'sentence'; did you mean 'sentences'?"),
        ("train.beta1=1", "train.beta1 = 1.0 must lie between 0 and"),
        ("parse.layer=2", "there is no layer 2; this 'prpn' has one set of trees"),
    ],
)
def test_values_that_no_run_could_work_with(change: str, message: str) -> None:
    with pytest.raises(SynparseError) as told:
        check_fits(resolve(model="prpn", settings=[change]))
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("key", "value"), [("gate", 1), ("gate", True), ("tied_embeddings", "yes"), ("slots", "4"), ("slots", True)]
)
def test_a_stored_value_of_another_type(key: str, value: Any) -> None:
    stored = resolve(model="prpn").as_dict()
    stored["model"] = {**stored["model"], key: value}
    with pytest.raises(SynparseError, match=f"setting model.{key} = {value!r} is of another type"):
        check_fits(RunConfig.from_dict(stored))


def test_the_layer_that_learned_from_trees_is_the_one_parsed() -> None:
    config = resolve(model="onlstm-syd", settings=["model.supervised_layer=2", "parse.layer=3"])
    assert (default_layer(config, "syd"), default_layer(config, "lm")) == (2, 3)
    plain = resolve(model="onlstm", settings=["parse.layer=1"])
    assert default_layer(plain, "lm") == 1
