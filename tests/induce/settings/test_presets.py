"""Settings that are names or switches, from the command line and from a checkpoint."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from induce.decoding.specification import decoder, fitting_decoder
from induce.models.base import check_fits
from induce.settings.presets import load_preset, resolve
from induce.settings.run import RunConfig, SgdSettings, default_layer
from induce.structures import Distances, SpanScores
from tests.support.reference import ROOT
from treebank.base.errors import SynparseError

SHIPPED = sorted((ROOT / "induce" / "presets").glob("*.toml"))


def test_names_and_switches_are_set_and_stored() -> None:
    changes = ["model.gate=soft", "model.tied_embeddings=false", "model.residual_blocks=0", "loader.name=stream"]
    config = resolve(model="prpn", settings=changes)
    assert config.model["gate"] == "soft"
    assert config.model["tied_embeddings"] is False
    assert RunConfig.from_dict(config.as_dict()) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.tied_embeddings=no", "write true or false"),
        (f"train.epochs={'9' * 5000}", f"setting 'train.epochs={'9' * 26}…: '{'9' * 39}… is not a whole number"),
        ("model.residual_blocks=-1", "model.residual_blocks = -1 must lie between 0 and"),
        ("model.slots=0", "model.slots = 0 must lie between 1 and"),
        ("loader.name=sentence", "there is no loader 'sentence'; did you mean 'sentences'?"),
        ("optimizer.beta1=1", "optimizer.beta1 = 1.0 must lie between 0 and"),
        (f"parse.branching={'9' * 5000}", f"there is no branching '{'9' * 39}…; known: left, "),
        ("trian.epochs=2", "there is no table 'trian'; did you mean 'train'?"),
        ("train.epochs", "setting 'train.epochs': write it as table.key=value"),
        ("parse.layer=2", "there is no layer 2; this 'prpn' has one set of trees"),
    ],
)
def test_invalid_values_are_refused(change: str, message: str) -> None:
    with pytest.raises(SynparseError) as error:
        check_fits(resolve(model="prpn", settings=[change]))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"), [("gate", 1), ("gate", True), ("tied_embeddings", "yes"), ("slots", "4"), ("slots", True)]
)
def test_stored_value_of_another_type_is_refused(key: str, value: Any) -> None:
    stored = resolve(model="prpn").as_dict()
    stored["model"] = {**stored["model"], key: value}
    with pytest.raises(SynparseError, match=f"setting model.{key} = {value!r} is of another type"):
        check_fits(RunConfig.from_dict(stored))


def test_capitals_hyphens_and_underscores_make_no_difference_in_names() -> None:
    assert resolve(model="NPCFG", preset="Npcfg_Small", settings=["parse.decoder=MBR_Nary"]).preset == "npcfg-small"
    assert fitting_decoder("npcfg", (SpanScores,), "MBR_Nary") == "mbr-nary"
    assert fitting_decoder("onlstm", (Distances,), "NAry:tolerance=0.5") == "nary:tolerance=0.5"
    assert decoder("N-ary:0.5").keywords == {"tolerance": 0.5}


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        ({"model": "CRvNN"}, "model 'crvnn' is for task 'listops': synparse task train listops --model crvnn"),
        ({"model": "npcfg", "purpose": "craft"}, "there is no policy 'npcfg'"),
        ({"model": "ocn-policy"}, "there is no model 'ocn-policy'"),
        ({"preset": "craft-small"}, "is for task 'craft': synparse task train craft --preset craft-small"),
        ({"preset": "npcfg-small", "purpose": "logic"}, "is for plain text: synparse train --preset npcfg-small"),
    ],
)
def test_model_or_preset_of_another_command_is_refused_with_the_command(request_: dict[str, str], command: str) -> None:
    with pytest.raises(SynparseError, match=command):
        resolve(**request_)  # type: ignore[arg-type]


def test_supervised_layer_is_the_default_for_parsing() -> None:
    config = resolve(model="onlstm-syd", settings=["model.supervised_layer=2", "parse.layer=3"])
    assert (default_layer(config, "syd"), default_layer(config, "lm")) == (2, 3)
    plain = resolve(model="onlstm", settings=["parse.layer=1"])
    assert default_layer(plain, "lm") == 1


def test_preset_inherits_from_the_preset_that_it_extends() -> None:
    right, small = load_preset("npcfg-right").as_dict(), load_preset("npcfg-small").as_dict()
    assert {name for name in small if small[name] != right[name]} == {"preset", "parse"}
    lstm, onlstm = load_preset("lstm-ptb"), load_preset("onlstm-ptb")
    assert lstm.data == onlstm.data
    assert "chunk_size" not in lstm.model  # another model inherits no settings of [model]


def test_user_preset_inherits_all_tables(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('extends = "npcfg-small"\n[train]\nepochs = 3\n', "utf-8")
    derived = tmp_path / "derived.toml"
    derived.write_text('extends = "base.toml"\n[data]\nminimum_count = 7\n', "utf-8")
    config, small = load_preset(str(derived)), load_preset("npcfg-small")
    assert (config.train.epochs, config.data.minimum_count, config.source) == (3, 7, str(derived))
    assert (config.model, config.optimizer.clip, config.parse) == (small.model, small.optimizer.clip, small.parse)
    (tmp_path / "model.toml").write_text('[model]\nname = "npcfg"\n', "utf-8")
    assert load_preset(str(tmp_path / "model.toml")).train == small.train


def test_another_component_inherits_no_settings_of_the_default_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "npcfg-small"\n[optimizer]\nname = "sgd"\nlearning_rate = 0.5\n', "utf-8")
    assert load_preset("npcfg-small").optimizer_name == "adam"  # its table has no name
    assert resolve(preset=str(path)).optimizer == SgdSettings(learning_rate=0.5)


CHOSEN = {  # preset -> settings for which the default of its model is right, and not the value of the other preset
    "ndmv-joint-small": {"class_size", "word_size", "word_attach_rank", "word_decision_rank", "word_root_rank"},
    "ndmv-lexical-small": {"start_epochs"},
    "ndmv-sibling-small": {"start_epochs"},
    "ndmv-sibling-tags": {"hidden_size"},
}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_preset_repeats_what_another_component_does_not_inherit(path: Path) -> None:
    preset = tomllib.loads(path.read_text(encoding="utf-8"))
    if "extends" not in preset:
        return
    base, config = (resolve(preset=name).as_dict() for name in (preset["extends"], path.stem))
    stated = tomllib.loads(path.with_stem(preset["extends"]).read_text(encoding="utf-8"))
    for name in ("model", "loader", "optimizer"):
        if base[f"{name}_name"] != config[f"{name}_name"]:
            known = {key for key in stated.get(name, {}) if key in config[name]} - {*preset.get(name, {})}
            lost = {key for key in known if config[name][key] != base[name][key]}
            assert lost <= CHOSEN.get(path.stem, set())


def test_sample_settings_are_replaced_and_not_merged(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "onlstm-small"\n[on-sample]\n', "utf-8")
    assert load_preset("onlstm-small").on_sample
    assert not load_preset(str(path)).on_sample


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "mine.toml"', "extends itself"),
        ('extends = "npcfg-smal"', "mine.toml: there is no preset 'npcfg-smal'; did you mean 'npcfg-small'"),
        ('extends = "npcfg-small"\nparse.decoder = "nope"', "mine.toml: there is no decoder 'nope'"),
        ('extends = "onlstm-small"\nparse.layer = 9', "mine.toml: setting parse.layer = 9: there is no layer 9"),
        ("extends = 3", "extends must be a text in quotation marks"),
        ("train = 3", "write train as a table"),
        ('extends = "npcfg-small"\n[model]\nlayers = 2', "has no setting 'layers'"),
        ('extends = "npcfg-small"\n[data]\nclasses = 9', "'data.classes' has no effect in this run; it needs"),
        ('extends = "dmv-small"\noptimizer.name = "none"\ntrain.epochs = 9', "'train.epochs' has no effect in"),
    ],
)
def test_malformed_user_preset_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SynparseError, match=message):
        load_preset(str(path))
