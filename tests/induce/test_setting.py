"""Declarations of settings: help, limits and conditions of every component."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from induce.models.base import check_fits, make_model
from induce.registry import LOADERS, MODELS, OPTIMIZERS, PURPOSES, load
from induce.setting import ALWAYS, setting_text
from induce.settings.presets import changed, describe, load_preset, preset_names, resolve
from induce.settings.run import (
    TABLES,
    check_values,
    declared_settings,
    effective_settings,
    kind_of,
    make_settings,
    model_settings,
)
from tests.support import tiny
from treebank.base.errors import SynparseError

MODEL_LOCATIONS = {
    entry.location for models in (MODELS, *(task.models for task in PURPOSES.values())) for entry in models.values()
}
COMPONENTS = {
    **{location: load(location).Config for location in MODEL_LOCATIONS},
    **{f"task {name}": entry.settings for name, entry in PURPOSES.items()},
    **{f"loader {name}": entry.settings for name, entry in LOADERS.items()},
    **{f"optimizer {name}": entry.settings for name, entry in OPTIMIZERS.items()},
    **TABLES,
}


MAX_LAYERS = 1000  # a model is built layer by layer, so that a billion layers would take hours


@pytest.mark.parametrize("model", tiny.SETTINGS)
def test_settings_that_add_weights_have_a_low_limit(model: str) -> None:
    config = tiny.settings(model)
    values = model_settings(kind_of(config).Config, config.model, model)
    for declared in fields(values):
        name, value = declared.name, getattr(values, declared.name)
        if type(value) is not int or declared.metadata["at_most"] <= MAX_LAYERS:
            continue
        try:
            sizes = [changed(config, [f"model.{name}={factor * max(value, 1)}"]) for factor in (2, 4)]
            weights = [len(list(make_model(size, 20).parameters())) for size in sizes]
        except (SynparseError, ValueError):  # it has no effect, or does not fit the other settings
            continue
        assert weights[0] == weights[1], name


def test_every_setting_declares_help_and_limits() -> None:
    for component, kind in COMPONENTS.items():
        for declared in fields(kind):
            about = declared.metadata
            assert about.get("help"), (component, declared.name)
            if type(declared.default) in (int, float):
                assert about["at_least"] <= declared.default <= about["at_most"], (component, declared.name)
            if about.get("choices"):
                with pytest.raises(SynparseError, match=f"setting table.{declared.name}: there is no "):
                    make_settings("table", kind, {declared.name: "?"})
        check_values("table", kind())


def test_conditions_and_texts_of_the_settings_of_every_preset() -> None:
    for preset in preset_names():
        config = load_preset(preset)
        for declared in declared_settings(config).values():
            assert declared.metadata.get("when", ALWAYS).holds(config) in (True, False), preset
        check_fits(config)
        changes = [f"{name}={setting_text(config.value(name))}" for name in effective_settings(config)]
        assert changed(config, changes) == config, preset


@pytest.mark.parametrize(
    ("model", "change", "condition"),
    [
        ("onlstm", "data.classes=7", "data.token=class"),
        ("onlstm", "data.joining_marks=true", "loader.name=fragments|spans"),
        ("udgn", "data.trees=random", "a model that learns trees"),
        ("dmv", "train.epochs=3", "optimizer.name!=none"),
        ("lstm", "parse.decoder=biased", "a model of trees or heads"),
        ("lstm", "parse.branching=left", "a model of trees or heads"),
        ("lstm", "parse.priors=branching:1", "a model of trees or heads"),
        ("ordered-memory", "parse.priors=branching:1", "a model of trees or heads"),
        ("npcfg", "parse.head_style=content", "a model of heads"),
        ("prpn", "parse.layer=1", "a model with trees in several layers"),
        ("onlstm", "parse.distances=lm", "a model that learns trees"),
        ("dmv", "model.annealed_bias=3", "model.annealed!=0.0"),
    ],
)
def test_setting_without_effect_is_refused(model: str, change: str, condition: str) -> None:
    with pytest.raises(SynparseError) as error:
        resolve(model=model, settings=[change])
    assert str(error.value) == f"setting {change!r} has no effect in this run; it needs {condition}"
    assert change.partition("=")[0] not in effective_settings(resolve(model=model))


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("dmv", ["model.extended=false", "model.backoff=5"]),
        ("dmv", ["model.fragment_penalty=1", "model.fragment_constraint=strict"]),
        ("ndmv", ["model.start=random", "model.start_epochs=9"]),
    ],
)
def test_setting_without_effect_after_a_change_is_refused(model: str, settings: list[str]) -> None:
    with pytest.raises(SynparseError, match=f"{settings[1]}' has no effect in this run"):
        resolve(model=model, settings=settings)
    resolve(model=model, settings=settings[1:])


def test_setting_with_alternative_conditions() -> None:
    none = ["model.predicate_root=0", "model.predicate_head=0", "model.leaning_limit=1"]
    for setting in ("model.leaning=1", "model.head_leaning=1"):
        resolve(model="dmv", settings=[*none, setting])
    with pytest.raises(SynparseError, match=r"it needs model\.leaning!=0\.0 or model\.head_leaning!=0\.0 or "):
        resolve(model="dmv", settings=none)


def test_settings_of_parsing_have_an_effect_on_states_of_a_model_without_trees() -> None:
    """``MODEL@distances=…`` reads the branching direction, priors of distances, and heads from masked words."""
    settings = ["parse.branching=left", "parse.priors=branching-gaps:1", "parse.head_style=content"]
    check_fits(resolve(model="transformer", settings=settings))


def test_share_to_set_aside_is_refused_for_a_task_with_a_fixed_one() -> None:
    with pytest.raises(SynparseError, match=r"it needs a run that sets examples aside$"):
        resolve(purpose="craft", settings=["data.development_share=0.1"])


def test_setting_of_another_loader_is_refused() -> None:
    with pytest.raises(SynparseError, match=r"loader 'masked' has no setting 'steady'"):
        resolve(model="udgn", settings=["loader.steady=0.1"])
    with pytest.raises(SynparseError, match=r"\[train\] has no setting 'batch_size'; did you mean 'loader.batch_size'"):
        resolve(model="onlstm", settings=["train.batch_size=4"])


def test_setting_is_effective_after_the_change_that_it_needs() -> None:
    config = resolve(model="onlstm", settings=["data.classes=7", "data.token=class"])
    assert config.data.classes == 7


def test_another_component_keeps_settings_with_the_same_name() -> None:
    config = resolve(model="onlstm", settings=["loader.batch_size=5", "loader.name=sentences", "optimizer.name=sgd"])
    assert (config.loader_name, config.loader.batch_size, config.loader.bucketed) == ("sentences", 5, False)
    assert config.optimizer.learning_rate == resolve(model="onlstm").optimizer.learning_rate


@pytest.mark.parametrize("name", ["adam", "none"])
def test_optimizer_must_suit_the_model(name: str) -> None:
    with pytest.raises(SynparseError, match=r"model .* needs "):
        check_fits(resolve(model="dmv" if name == "adam" else "lstm", settings=[f"optimizer.name={name}"]))


def test_description_of_a_setting() -> None:
    declared: dict[str, Any] = declared_settings(resolve(model="onlstm"))
    assert describe("train.epochs", declared["train.epochs"], 60) == (
        "train.epochs: int, default 60; from 1 to 1e+09; maximum number of training epochs"
    )
    assert describe("parse.priors", declared["parse.priors"], ()).startswith("parse.priors: list, default (none); ")
