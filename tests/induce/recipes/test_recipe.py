"""Recipe files: the shipped recipe, the order of training, and messages for invalid files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from induce.recipes.recipe import VOTE, read_recipe, recipe_from
from induce.settings.presets import resolve
from treebank.base.errors import SynparseError

PART = {"name": "a", "presets": ["onlstm-small"], "minutes": 1}


@pytest.mark.parametrize("name", ["best", "best-tiny"])
def test_shipped_recipe_names_existing_presets_and_settings(name: str) -> None:
    recipe = read_recipe(name)
    for part in recipe.parts:
        for preset in part.presets:
            resolve(preset=preset, settings=part.settings)
    assert recipe.minutes == {"best": 22, "best-tiny": 5}[name]
    assert [part.name for part in recipe.parts if part.teachers == VOTE] == [recipe.result] == ["student"]
    assert all(part.does for part in recipe.parts)


@pytest.mark.parametrize(("requested", "style"), [("", "content"), ("content", "content"), ("function", "function")])
def test_recipe_of_heads_has_different_grammars_and_a_student(requested: str, style: str) -> None:
    recipe = read_recipe("heads", requested)
    configs = {part.name: resolve(preset=part.presets[0], settings=part.settings) for part in recipe.parts}
    assert {config.parse.head_style for config in configs.values()} == {style}
    settings = {name: config.model for name, config in configs.items()}
    grammars = [settings[part.name] for part in recipe.parts if part.teachers != VOTE]
    assert all(first != second for index, first in enumerate(grammars) for second in grammars[:index])
    assert {part.presets for part in recipe.parts} == {(f"dmv-{style}",), ("biaffine-small",)}
    assert [run.preset for run in recipe.stages[-1]] == ["biaffine-small"]
    assert recipe.result == "vote"


def test_unknown_style_of_a_recipe_is_refused() -> None:
    with pytest.raises(SynparseError, match="recipe 'heads' has no style 'functions'; did you mean 'function'"):
        read_recipe("heads", "functions")
    with pytest.raises(SynparseError, match="recipe 'best' has no style 'content'; it has none"):
        read_recipe("best", "content")


def test_teachers_are_trained_before_their_students() -> None:
    stages = [{run.name: run.teachers for run in stage} for stage in read_recipe("best").stages]
    edges = ("segment-edges-1",)
    assert stages == [
        {"segment-edges-1": (), "first-3": (), "first-4": ()},
        {"first-1": edges, "first-2": edges, "chart-1": edges},
        dict.fromkeys(("second-1", "second-2"), ("first-1", "first-2", "first-3", "first-4")),
        dict.fromkeys(("third-1", "third-2"), ("second-1", "second-2")),
        {"student-1": (VOTE,), "student-2": (VOTE,)},
    ]


def test_grammars_of_each_type_and_a_chart_parser_vote() -> None:
    voters = [run.preset for run in read_recipe("best").runs if run.part.votes and VOTE not in run.teachers]
    assert Counter(voters) == {"npcfg-small": 4, "simple-pcfg-small": 2, "chart-small": 1}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"minuts": 1}, "unknown field 'minuts'; did you mean 'minutes'"),
        ({"part": [{**PART, "seeds": 1}]}, "parts: unknown field 'seeds'"),
        ({"small_text_words": 9}, "small_text_recipe need each other"),
        ({"minutes": -1}, "minutes cannot be -1"),
        ({"part": [{**PART, "minutes": 0}]}, "minutes cannot be 0"),
        ({"part": [{**PART, "weight": 0}]}, "weight cannot be 0"),
        ({"part": [{**PART, "minutes": "ten"}]}, "'minutes' cannot be 'ten'"),
        ({"part": [{**PART, "presets": [1]}]}, "'presets' cannot be 1"),
        ({"part": [{"name": "a", "minutes": 1}]}, "'presets' is missing"),
        ({"part": [{**PART, "teachers": "b"}]}, "its teachers 'b' are not an earlier part"),
        ({"part": [{**PART, "with_teacher": 2}]}, "part 'a': with_teacher is at most count"),
        ({"part": [{**PART, "settings": ["train.seed=9"]}]}, "leave out 'train.seed=9'"),
        ({"part": [{**PART, "enough_words": 9}]}, "enough_words is for a part with max_passes and without words"),
        ({"result": "b"}, "the result 'b' is not a part"),
        ({"part": [PART, PART]}, "two parts are called 'a'"),
        ({"name": ""}, "the name of the recipe or of a part is empty"),
        ({"part": [{**PART, "name": ""}]}, "the name of the recipe or of a part is empty"),
        ({"part": [{**PART, "teachers": "vote"}]}, "all parts learn from the vote"),
        ({"part": [{**PART, "with_teacher": 1}]}, "with_teacher is for a part"),
        ({"estimated_prior": "branching"}, "with_teacher < count"),
        (
            {"part": [PART, {**PART, "name": "b", "teachers": "vote"}, {**PART, "name": "c", "teachers": "b"}]},
            "part 'c': its teachers 'b' are not an earlier part, or they learn from the vote",
        ),
    ],
)
def test_invalid_recipe_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(SynparseError, match=problem):
        recipe_from({"name": "x", "minutes": 1, "part": [PART], **changes}, "x.toml")


def test_recipe_of_a_user_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nminutes = 5\n[[part]]\nname = "a"\npresets = ["lstm-small"]\nminutes = 2\n', "utf-8"
    )
    recipe = read_recipe(str(path))
    assert (recipe.name, recipe.parts[0].presets, recipe.runs[0].name) == ("mine", ("lstm-small",), "a-1")
    with pytest.raises(SynparseError, match="no recipe 'bets'; did you mean 'best'"):
        read_recipe("bets")
    for text, problem in (
        ("name =", "not valid TOML"),
        ("a" + ".a" * 60_000 + " = 1", "more than 16,384 bytes"),
        (
            'name = "x"\nminutes = 1\n[[part]]\nname = "a"\npresets = ["p"]\nminutes = 1\nweight = 1e308',
            "parts: a weight is",
        ),
        ("name = 'x'", r"a recipe has its parts in tables \[\[part\]\]"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(SynparseError, match=rf"mine\.toml: {problem}"):
            read_recipe(str(path))


def test_files_named_in_a_recipe_are_in_its_folder(tmp_path: Path) -> None:
    part = '[[part]]\nname = "a"\npresets = ["lstm-small", "sizes/my.toml"]\nminutes = 2\n'
    part += 'settings = ["train.epochs=2", "data.vocabulary=words.txt"]\n'
    small = 'small_text_words = 9\nsmall_text_recipe = "tiny.toml"\n'
    (tmp_path / "mine.toml").write_text(f'name = "mine"\nminutes = 5\n{small}{part}', "utf-8")
    recipe = read_recipe(str(tmp_path / "mine.toml"))
    assert recipe.small_text_recipe == str(tmp_path / "tiny.toml")
    assert recipe.parts[0].settings == ("train.epochs=2", f"data.vocabulary={tmp_path / 'words.txt'}")
    assert recipe.parts[0].presets == ("lstm-small", str(tmp_path / "sizes" / "my.toml"))
