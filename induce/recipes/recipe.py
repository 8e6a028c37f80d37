"""Recipes: TOML files that say which models are trained, by which teachers, for how long, and which of them vote."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from induce.settings.presets import sets_seed
from induce.storage.locate import ModelSpec
from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.metadata import decode, read_toml

SHIPPED = Path(__file__).parent
VOTE = "vote"  # of all parts, as a teacher
MAX_COUNT = 1000
NONZERO = ("minutes", "weight", "words_per_second", "words_per_minute", "teaching", "voting", "max_stretch")


def _check_positive(record: Any) -> None:
    """Raise ValueError for a negative number, and for a 0 in one of the fields ``NONZERO``."""
    for item in fields(record):
        value = getattr(record, item.name)
        is_number = isinstance(value, int | float)
        if is_number and (not 0 <= value < inf or (value == 0 and item.name in NONZERO)):
            raise ValueError(f"{item.name} cannot be {value}")


@dataclass(frozen=True)
class Part:
    """Models of a recipe that have the same purpose. They are called NAME-1, NAME-2, … and have different seeds."""

    name: str
    presets: tuple[str, ...]  # of the models, in turn
    minutes: float  # of one core, enough for the text that the recipe was made for
    does: str = ""  # what the models do, for the progress display
    count: int = 1  # models
    max_passes: int = 0  # over the text, fewer if there is less time; 0: as many as in the preset
    enough_words: int = 0  # in all passes, for grammars: no pass after the fifth exceeds them; 0: no limit
    words: int = 0  # to learn from in all passes together; 0: as many as there is time for
    teachers: str = ""  # the part whose model teaches, or the vote of its models, or "vote" of all parts
    with_teacher: int = 0  # models that have a teacher, the first ones; 0: all
    settings: tuple[str, ...] = ()  # table.key=value
    votes: bool = True
    weight: float = 1.0  # of each model in the vote

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that are out of range, and without a preset."""
        if not self.presets or not 1 <= self.count <= MAX_COUNT:
            raise ValueError(f"part {self.name!r} needs a preset, and count is from 1 to {MAX_COUNT}")
        if self.with_teacher > self.count:
            raise ValueError(f"part {self.name!r}: with_teacher is at most count")
        if self.with_teacher and not self.teachers:
            raise ValueError(f"part {self.name!r}: with_teacher is for a part with teachers")
        if self.enough_words and (self.words or not self.max_passes):
            raise ValueError(f"part {self.name!r}: enough_words is for a part with max_passes and without words")
        for change in filter(sets_seed, self.settings):
            raise ValueError(f"part {self.name!r}: leave out {change!r}; each model has its own seed")
        _check_positive(self)
        ModelSpec(path=self.name, weight=self.weight)


@dataclass(frozen=True)
class PartRun:
    """One training of a recipe."""

    part: Part
    number: int  # from 1
    teachers: tuple[str, ...] = ()  # names of the runs that teach it by their vote, or "vote"

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.part.name}-{self.number}"

    @property
    def teacher(self) -> str:
        """Name of the folder with its teacher, which is a model or a vote, or an empty string."""
        return f"{self.part.teachers}-{VOTE}" if len(self.teachers) > 1 else "".join(self.teachers)

    @property
    def preset(self) -> str:
        """Name of its preset."""
        return self.part.presets[(self.number - 1) % len(self.part.presets)]


@dataclass(frozen=True)
class Costs:
    """Times that the schedule expects, measured on one core."""

    words_per_second: float = 2300.0  # that a model learns from
    teaching: float = 7.0  # time in which all teachers parse a word, per time to learn from it
    voting: float = 15.0  # the same for all that vote
    words_per_minute: float = 6000.0  # of a text, for all parts; for the announced time
    training_share: float = 0.6  # of the time; the rest is for parsing the text for students, and for the vote
    max_stretch: float = 4.0  # parts train at most this many times their minutes

    def __post_init__(self) -> None:
        """Raises ValueError for numbers out of range."""
        _check_positive(self)


@dataclass(frozen=True)
class Recipe:
    """Models that are trained together, and the time that they share."""

    name: str
    parts: tuple[Part, ...]
    minutes: float  # wall-clock time by default
    costs: Costs = field(default_factory=Costs)
    small_text_words: int = 0  # for a text with fewer words, the recipe ``small_text_recipe`` is used instead
    small_text_recipe: str = ""
    vote_priors: tuple[str, ...] = ()  # NAME:STRENGTH, of all votes
    estimated_prior: str = ""  # with the strength of `recipe_job.prior_strength` in votes and teachers
    confidence: str = ""  # the part whose probabilities calibrate the result; "": the vote
    styles: tuple[str, ...] = ()  # values of {style} in presets and settings
    result: str = VOTE  # a part, whose run with the lowest perplexity is the result; or "vote"

    def __post_init__(self) -> None:
        """Raises ValueError for numbers out of range, and for parts that are repeated or have unknown teachers."""
        if not self.parts:
            raise ValueError("a recipe has at least one [[part]]")
        if not self.name or not all(part.name for part in self.parts):
            raise ValueError("the name of the recipe or of a part is empty")
        if all(part.teachers == VOTE for part in self.parts):
            raise ValueError("all parts learn from the vote; add a part that learns without it")
        _check_positive(self)
        earlier: dict[str, Part] = {}
        for part in self.parts:
            teachers = earlier.get(part.teachers)
            if part.teachers not in ("", VOTE) and (teachers is None or teachers.teachers == VOTE):
                raise ValueError(
                    f"part {part.name!r}: its teachers {part.teachers!r} are not an earlier part, "
                    "or they learn from the vote"
                )
            if part.name in (*earlier, VOTE) or part.name != os.path.basename(part.name):
                raise ValueError(f"two parts are called {part.name!r}, or it is not the name of a folder")
            earlier[part.name] = part
        if self.confidence not in ("", *earlier):
            raise ValueError(f"confidence: {self.confidence!r} is not a part")
        if self.result not in (*earlier, VOTE):
            raise ValueError(f"the result {self.result!r} is not a part")
        if self.estimated_prior and not any(0 < part.with_teacher < part.count for part in self.parts):
            raise ValueError("estimated_prior needs a part of which some models have a teacher: with_teacher < count")
        if bool(self.small_text_words) != bool(self.small_text_recipe):
            raise ValueError("small_text_words and small_text_recipe need each other")

    def in_style(self, style: str = "") -> Recipe:
        """The recipe with ``style``, by default the first of ``styles``, instead of {style} in presets and settings.

        Raises SynparseError for an unknown style.
        """
        if style and style not in self.styles:
            hint = nearest(style, self.styles) if self.styles else "it has none"
            raise UnknownNameError(f"recipe {self.name!r} has no style {style!r}; {hint}")
        chosen = style or next(iter(self.styles), "")
        return replace(self._with_names(lambda name: name.replace("{style}", chosen)), styles=())

    def relative_to(self, folder: Path) -> Recipe:
        """The recipe with its files in ``folder``: presets, another recipe, and vocabularies."""

        def located(name: str) -> str:
            key, separator, value = name.rpartition("=")
            is_file = key.strip() == "data.vocabulary" and value.strip() if key else value.endswith(".toml")
            return f"{key}{separator}{folder / value.strip()}" if is_file else name

        return replace(self._with_names(located), small_text_recipe=located(self.small_text_recipe))

    def _with_names(self, change: Callable[[str], str]) -> Recipe:
        """The recipe with ``change`` applied to each name of a preset and to each setting."""
        parts = [
            replace(part, presets=tuple(map(change, part.presets)), settings=tuple(map(change, part.settings)))
            for part in self.parts
        ]
        return replace(self, parts=tuple(parts))

    @property
    def runs(self) -> list[PartRun]:
        """All trainings."""
        names: dict[str, tuple[str, ...]] = {"": (), VOTE: (VOTE,)}  # of the runs of each part
        result = []
        for part in self.parts:
            names[part.name] = tuple(f"{part.name}-{number}" for number in range(1, part.count + 1))
            for number in range(1, part.count + 1):
                has_teacher = number <= (part.with_teacher or part.count)
                result.append(PartRun(part, number, names[part.teachers] if has_teacher else ()))
        return result

    @property
    def stages(self) -> list[list[PartRun]]:
        """The trainings in stages: each has all whose teachers are trained, the last one the students of the vote."""
        stages, remaining = [], self.runs
        while remaining:
            missing = {run.name for run in remaining}
            if any(run.part.teachers != VOTE for run in remaining):
                missing.add(VOTE)
            stages.append([run for run in remaining if not missing & {*run.teachers}])
            remaining = [run for run in remaining if missing & {*run.teachers}]
        return stages


def read_recipe(name: str, style: str = "") -> Recipe:
    """The shipped recipe ``name``, or that in the file ``name``, in ``style`` (see `Recipe.in_style`).

    In a file, presets and recipes that end in ``.toml`` are relative to the folder of the file. Raises SynparseError
    if it is missing or invalid.
    """
    path = Path(name)
    shipped = path.suffix != ".toml"
    if shipped:
        path = SHIPPED / f"{name}.toml"
        if not path.exists():
            known = [file.stem for file in sorted(SHIPPED.glob("*.toml"))]
            raise UnknownNameError(f"no recipe {name!r}; {nearest(name, known)}")
    recipe = recipe_from(read_toml(path), str(path)).in_style(style)
    return recipe if shipped else recipe.relative_to(path.absolute().parent)


def recipe_for(words: int, recipe: Recipe) -> Recipe:
    """``recipe``, or the one that it, or a recipe that it names, has for texts of ``words`` words.

    Raises SynparseError if the limits of these recipes do not decrease, because they could name each other forever.
    """
    while words < recipe.small_text_words:
        smaller = read_recipe(recipe.small_text_recipe)
        if smaller.small_text_words >= recipe.small_text_words:
            raise SynparseError(
                f"recipe {smaller.name!r}: small_text_words must be less than {recipe.small_text_words:,}, "
                f"the limit of recipe {recipe.name!r}, which names it for small texts"
            )
        recipe = smaller
    return recipe


def recipe_from(content: Mapping[str, Any], where: str) -> Recipe:
    """The recipe with the ``content`` of a file. Raises SynparseError, beginning with ``where``, if it is invalid."""
    tables = {("parts" if key == "part" else key): value for key, value in content.items() if key != "parts"}
    if "parts" in content or "part" not in content:
        raise SynparseError(f"{where}: a recipe has its parts in tables [[part]]")
    try:
        return decode(Recipe, tables)
    except ValueError as error:
        raise SynparseError(f"{where}: {error}") from None
