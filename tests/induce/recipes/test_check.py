"""A recipe that cannot be trained is refused before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from induce.recipes.check import check_recipe
from induce.recipes.recipe import read_recipe, recipe_from
from induce.recipes.runner import train_recipe
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError

REQUEST = RunRequest(run="run", text=("text.txt",))
LANGUAGE = {"name": "a", "presets": ["onlstm-small"], "minutes": 1}
GRAMMAR = {**LANGUAGE, "presets": ["npcfg-small"]}
NO_TREES = {**LANGUAGE, "presets": ["lstm-small"]}
HEADS = {**LANGUAGE, "presets": ["ndmv-joint-small"]}


@pytest.mark.parametrize("name", ["best", "best-tiny", "heads"])
def test_shipped_recipe_passes(name: str) -> None:
    check_recipe(read_recipe(name), REQUEST, name)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([LANGUAGE, {**LANGUAGE, "name": "b", "presets": ["nosuch"]}], "part 'b': there is no preset 'nosuch'"),
        ([LANGUAGE, {**GRAMMAR, "name": "b", "settings": ["train.epoch=1"]}], "part 'b': setting 'train.epoch=1'"),
        ([{**GRAMMAR, "settings": ["parse.decoder=eisner"]}], "part 'a': model 'npcfg' gives .* 'eisner' needs"),
        ([LANGUAGE, {**LANGUAGE, "name": "b", "teachers": "a"}], "part 'b': model 'onlstm' .* cannot learn from a"),
        ([{**LANGUAGE, "presets": ["chart-small"]}], "part 'a': model 'chart' learns from trees of another model"),
        (
            [GRAMMAR, {**LANGUAGE, "name": "b", "presets": ["biaffine-small"], "teachers": "vote"}],
            "part 'b': model 'biaffine' learns from heads, but its teachers 'vote' give trees; choose other teachers",
        ),
        (
            [HEADS, {**GRAMMAR, "name": "b", "teachers": "a"}],
            r"part 'b': model 'npcfg' learns from trees, .* 'a' give heads; "
            r"settings = \[\"parse\.decoder=heads-to-tree\"\] in that part gives them",
        ),
        ([{**GRAMMAR, "votes": False}], "no part votes"),
        ([NO_TREES], "part 'a': model 'lstm' gives no trees, so it cannot vote; write votes = false"),
        ([{**LANGUAGE, "max_passes": 3}], "part 'a': max_passes needs words, .* 'onlstm' reads stream"),
        (
            [{**LANGUAGE, "presets": ["segment-edges-small"], "max_passes": 3, "words": 9}],
            "part 'a': max_passes has no effect on model 'segment-edges'",
        ),
    ],
)
def test_part_that_cannot_be_trained_is_refused(parts: list[object], problem: str) -> None:
    recipe = recipe_from({"name": "x", "minutes": 1, "part": parts}, "x.toml")
    with pytest.raises(SynparseError, match=r"^x\.toml: " + problem):
        check_recipe(recipe, REQUEST, "x.toml")


def test_result_without_trees_is_refused() -> None:
    recipe = recipe_from({"name": "x", "minutes": 1, "result": "a", "part": [NO_TREES]}, "x.toml")
    with pytest.raises(SynparseError, match=r"^x\.toml: part 'a': model 'lstm' gives no trees"):
        check_recipe(recipe, REQUEST, "x.toml")


def test_error_of_a_later_part_leaves_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    part = '[[part]]\nname = "{}"\npresets = ["{}-small"]\nminutes = 1\n'
    path.write_text('name = "x"\nminutes = 1\n' + part.format("a", "onlstm") + part.format("b", "nosuch"), "utf-8")
    with pytest.raises(SynparseError, match=r"mine\.toml: part 'b': there is no preset 'nosuch-small'"):
        list(train_recipe(RunRequest(run=str(tmp_path / "run"), text=("text.txt",)), str(path)))
    assert not (tmp_path / "run").exists()


def test_prior_whose_strength_is_estimated_is_checked() -> None:
    with_teacher = {**GRAMMAR, "name": "b", "count": 2, "teachers": "a", "with_teacher": 1}
    content = {"name": "x", "minutes": 1, "part": [LANGUAGE, with_teacher]}
    with pytest.raises(SynparseError, match=r"mine\.toml: estimated_prior: prior 'near-heads:2': .* from 0 to 1"):
        check_recipe(recipe_from({**content, "estimated_prior": "near-heads"}, "x"), REQUEST, "mine.toml")
    with pytest.raises(SynparseError, match=r"mine\.toml: estimated_prior: there is no prior 'segment'"):
        check_recipe(recipe_from({**content, "estimated_prior": "segment"}, "x"), REQUEST, "mine.toml")


@pytest.mark.parametrize(("part", "result"), [({"teachers": "c"}, "b"), ({}, "vote")])  # vote of a part, and of all
def test_priors_of_votes_are_checked_before_training(part: dict[str, object], result: str) -> None:
    first = {**GRAMMAR, "count": 2, "teachers": "a", "with_teacher": 1, "name": "c"}
    parts = [{**GRAMMAR, "name": "a"}, first, {**GRAMMAR, "name": "b", **part}]
    content = {"name": "x", "minutes": 1, "result": result, "estimated_prior": "segment-edges", "part": parts}
    check_recipe(recipe_from({**content, "vote_priors": ["initial-spans:1"]}, "x"), REQUEST, "mine.toml")
    for prior, problem in {
        "near-heads:1": "prior 'near-heads:1' needs heads; this model gives span_scores",
        "segment-edges:1": "prior 'segment-edges:1' needs the counts",
        "initial:1": "there is no prior 'initial'",
    }.items():
        recipe = recipe_from({**content, "vote_priors": [prior]}, "x")
        with pytest.raises(SynparseError, match=rf"mine\.toml: vote_priors: {problem}"):
            check_recipe(recipe, REQUEST, "mine.toml")


def test_model_without_span_scores_gives_no_confidence() -> None:
    parts = [
        {"name": "lm", "presets": ["onlstm-small"], "minutes": 1},
        {"name": "s", "presets": ["chart-small"], "minutes": 1, "teachers": "vote"},
    ]
    recipe = recipe_from({"name": "mine", "minutes": 5, "confidence": "lm", "part": parts}, "x")
    with pytest.raises(SynparseError, match="part 'lm': confidence needs a model with span scores"):
        check_recipe(recipe, REQUEST, "mine.toml")
