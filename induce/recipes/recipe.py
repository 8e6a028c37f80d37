"""Recipes: TOML files that say which models are trained, by which teachers, for how long, and which of them vote.

A recipe trains one or more *series* of its parts, each with other seeds. Parts whose teacher is the vote are trained
once, after all series.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from induce.settings.presets import sets_seed
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.metadata import decode
from treebank.base.registry import nearest

SHIPPED = Path(__file__).parent
VOTE = "vote"  # of all parts, as a teacher
MAX_MEMBERS = 1000
NONZERO = ("minutes", "weight", "words_per_second", "teaching_cost", "voting_cost")


def _check_positive(record: Any) -> None:
    """Raise ValueError for a negative number, and for a 0 in one of the fields ``NONZERO``."""
    for item in fields(record):
        value = getattr(record, item.name)
        is_number = isinstance(value, int | float)
        if is_number and (not 0 <= value < inf or (value == 0 and item.name in NONZERO)):
            raise ValueError(f"{item.name} cannot be {value}")


@dataclass(frozen=True)
class Part:
    """One model of a recipe, of which a series trains ``count``. Members are called NAME-1, NAME-2, …"""

    name: str
    presets: tuple[str, ...]  # of the members, in turn
    minutes: float  # of one core, enough for the text that the recipe was made for
    count: int = 1  # members in each series
    max_passes: int = 0  # over the text, fewer if there is less time; 0: as many as in the preset
    words: int = 0  # to learn from in all passes together; 0: as many as there is time for
    teachers: str = ""  # the part whose members teach, in turn, or "vote"
    teachers_per_student: int = 1  # members of that part that teach together
    with_teacher: int = 0  # members of a series that have a teacher, the first ones; 0: all
    settings: tuple[str, ...] = ()  # table.key=value
    votes: bool = True
    weight: float = 1.0  # of each member in the vote

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that are out of range, and without a preset."""
        if not self.presets or not 1 <= self.count <= MAX_MEMBERS:
            raise ValueError(f"part {self.name!r} needs a preset, and count is from 1 to {MAX_MEMBERS}")
        if self.with_teacher > self.count:
            raise ValueError(f"part {self.name!r}: with_teacher is at most count")
        if self.with_teacher and not self.teachers:
            raise ValueError(f"part {self.name!r}: with_teacher is for a part with teachers")
        for change in filter(sets_seed, self.settings):
            raise ValueError(f"part {self.name!r}: leave out {change!r}; each member has its own seed")
        _check_positive(self)

    def in_style(self, style: str) -> Part:
        """The part with the placeholder ``{style}`` in its presets and settings replaced by ``style``."""
        presets, settings = (
            tuple(text.replace("{style}", style) for text in texts) for texts in (self.presets, self.settings)
        )
        return replace(self, presets=presets, settings=settings)


@dataclass(frozen=True)
class Member:
    """One training run of a recipe."""

    part: Part
    number: int  # from 1, over all series; the seed in the first job

    @property
    def teachers(self) -> str:
        """The part whose members teach it, "vote", or "" for a member without a teacher."""
        limit = self.part.with_teacher or self.part.count
        return self.part.teachers if (self.number - 1) % self.part.count < limit else ""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.part.name}-{self.number}"

    @property
    def preset(self) -> str:
        """Name of its preset."""
        return self.part.presets[(self.number - 1) % len(self.part.presets)]


@dataclass(frozen=True)
class Recipe:
    """Models that are trained together, and the time that they share."""

    name: str
    parts: tuple[Part, ...]
    minutes: float  # wall-clock time by default
    training_share: float = 0.6  # of the time; the rest is for parsing the text for students, and for the vote
    max_stretch: float = 4.0  # parts train at most this many times their minutes
    words_per_second: float = 2300.0  # that a grammar learns from on one core
    teaching_cost: float = 7.0  # time to parse a word by the teachers of one series, per time to learn from it
    voting_cost: float = 15.0  # the same for the voters of one series
    max_series: int = 1
    small_text_words: int = 0  # for a text with fewer words, the recipe ``small_text_recipe`` is used instead
    small_text_recipe: str = ""
    estimated_prior: str = ""  # with the strength of `plan.prior_strength` in votes and teachers
    styles: tuple[str, ...] = ()  # values of {style} in presets and settings
    result: str = VOTE  # a part, whose member with the lowest perplexity is the result; or "vote" of all voters

    def __post_init__(self) -> None:
        """Raises ValueError for numbers out of range, and for parts that are repeated or have unknown teachers."""
        if not self.parts or not 1 <= self.max_series <= MAX_MEMBERS:
            raise ValueError(f"a recipe has at least one [[part]], and max_series is from 1 to {MAX_MEMBERS}")
        if not self.name or not all(part.name for part in self.parts):
            raise ValueError("the name of the recipe or of a part is empty")
        if len(self.students) == len(self.parts):
            raise ValueError("all parts learn from the vote; add a part that learns without it")
        _check_positive(self)
        names = {VOTE}
        students = {part.name for part in self.students}
        for part in self.parts:
            if part.teachers not in {"", *names} - students:
                raise ValueError(
                    f"part {part.name!r}: its teachers {part.teachers!r} are not an earlier part, "
                    "or they learn from the vote"
                )
            teaching = next((earlier.count for earlier in self.parts if earlier.name == part.teachers), 1)
            if part.teachers_per_student < 1 or teaching % part.teachers_per_student:
                raise ValueError(
                    f"part {part.name!r}: teachers_per_student divides the number of its teachers in a series"
                )
            if part.name in names or part.name != os.path.basename(part.name):
                raise ValueError(f"two parts are called {part.name!r}, or it is not the name of a folder")
            names.add(part.name)
        if self.result not in names:
            raise ValueError(f"the result {self.result!r} is not a part")
        if self.estimated_prior and not self.compared:
            raise ValueError("estimated_prior needs a part of which some members have a teacher: with_teacher < count")
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
        parts = tuple(part.in_style(chosen) for part in self.parts)
        return replace(self, parts=parts, styles=())

    def relative_to(self, folder: Path) -> Recipe:
        """The recipe with its files, presets and another recipe, in ``folder``."""

        def located(name: str) -> str:
            return str(folder / name) if name.endswith(".toml") else name

        parts = tuple(replace(part, presets=tuple(map(located, part.presets))) for part in self.parts)
        return replace(self, parts=parts, small_text_recipe=located(self.small_text_recipe))

    @property
    def students(self) -> tuple[Part, ...]:
        """Parts that learn from the vote of the others."""
        return tuple(part for part in self.parts if part.teachers == VOTE)

    @property
    def compared(self) -> tuple[Part, ...]:
        """Parts of which some members have a teacher and others do not."""
        return tuple(part for part in self.parts if 0 < part.with_teacher < part.count)

    def series(self, count: int) -> list[Member]:
        """Members of ``count`` series, without the students of the vote."""
        parts = [part for part in self.parts if part.teachers != VOTE]
        return [Member(part, number) for part in parts for number in range(1, count * part.count + 1)]

    def student_members(self) -> list[Member]:
        """Members that learn from the vote."""
        return [Member(part, number) for part in self.students for number in range(1, part.count + 1)]

    def stages(self, members: Sequence[Member]) -> Iterator[list[Member]]:
        """``members`` in the order of training: teachers before their students."""
        remaining = list(members)
        while remaining:
            unfinished = {member.part.name for member in remaining}
            stage = [member for member in remaining if member.teachers not in unfinished]
            yield stage
            remaining = [member for member in remaining if member.teachers in unfinished]


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
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SynparseError(f"{path}: not valid TOML ({error})") from None
    recipe = recipe_from(content, str(path)).in_style(style)
    return recipe if shipped else recipe.relative_to(path.absolute().parent)


def recipe_from(content: Mapping[str, Any], where: str) -> Recipe:
    """The recipe with the ``content`` of a file. Raises SynparseError, beginning with ``where``, if it is invalid."""
    tables = {("parts" if key == "part" else key): value for key, value in content.items() if key != "parts"}
    if "parts" in content or "part" not in content:
        raise SynparseError(f"{where}: a recipe has its parts in tables [[part]]")
    try:
        return decode(Recipe, tables)
    except ValueError as error:
        raise SynparseError(f"{where}: {error}") from None
