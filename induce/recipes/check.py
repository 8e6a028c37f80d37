"""Check of a recipe before anything is trained: presets, settings, teachers, decoders and votes of all parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from induce.data.loaders import SpanSettings
from induce.decoding.specification import check_priors, decoder_entry, decoders_of, fitting_decoder, parse_priors
from induce.ensemble.ensemble import STRUCTURES
from induce.recipes.recipe import VOTE, Part, PartRun, Recipe
from induce.recipes.recipe_job import STRONGEST
from induce.registry import LOADERS, Output
from induce.settings.run import RunConfig, entry_of, kind_of
from induce.structures import SpanScores, Structure
from induce.training.request import RunRequest, resolved_config
from treebank.base.errors import SynparseError


@dataclass(frozen=True)
class Source:
    """A model, or the vote, as a source of trees or heads."""

    name: str
    gives: tuple[type[Structure], ...]
    decoder: str = ""

    def output(self) -> Output:
        """Output with its decoder. Raises SynparseError if this does not fit, or without any trees."""
        return decoder_entry(fitting_decoder(self.name, self.gives, self.decoder)).gives


def check_recipe(recipe: Recipe, request: RunRequest, where: str) -> None:
    """Raise SynparseError, beginning with ``where``, if a part cannot be trained, teach or vote as ``recipe`` says."""
    sources: dict[str, list[Source]] = {"": []}
    voting = [part for part in recipe.parts if part.votes]
    if recipe.estimated_prior:
        with _located(f"{where}: estimated_prior"):
            parse_priors([f"{recipe.estimated_prior}:{STRONGEST:g}"])
    for part in sorted(recipe.parts, key=lambda part: part.teachers == VOTE):  # students of the vote are the last
        if part.teachers == VOTE and VOTE not in sources:
            sources[VOTE] = [_vote(recipe, voting, sources, where)]
        with _located(f"{where}: part {part.name!r}"):
            runs = [run for run in recipe.runs if run.part == part]
            configs = list(_configs(part, runs, request))
            for config in configs:
                _check_passes(part, config)
            sources[part.name] = [
                Source(config.model_name, kind_of(config).gives, config.parse.decoder) for config in configs
            ]
            for source in sources[part.name] if recipe.result == part.name else ():
                source.output()
            if recipe.confidence == part.name and any(SpanScores not in source.gives for source in sources[part.name]):
                raise SynparseError("confidence needs a model with span scores, such as segment-edges")
            for source in sources[part.teachers]:
                _check_teacher(part, source, configs)
        if len(runs[0].teachers) > 1:
            _vote(recipe, [teacher for teacher in recipe.parts if teacher.name == part.teachers], sources, where)
    if recipe.result == VOTE:
        _vote(recipe, voting, sources, where)


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Add ``where`` to a SynparseError."""
    try:
        yield
    except SynparseError as error:
        raise SynparseError(f"{where}: {error}") from None


def _configs(part: Part, runs: Sequence[PartRun], request: RunRequest) -> Iterator[RunConfig]:
    """The different settings of the runs of a part."""
    for preset, teacher in dict.fromkeys((run.preset, run.teacher) for run in runs):
        teachers = (teacher,) if teacher else ()
        options = replace(request, preset=preset, settings=part.settings, teachers=teachers, seed=1)
        config = resolved_config(options)
        options.check_model(config)
        yield config


def _check_passes(part: Part, config: RunConfig) -> None:
    """Raise SynparseError if ``max_passes`` cannot apply to the model or its loader."""
    if not part.max_passes:
        return
    if config.optimizer_name == "none":
        raise SynparseError(f"max_passes has no effect on model {config.model_name!r}; leave it out")
    if not part.words and not isinstance(config.loader, SpanSettings):
        able = " or ".join(name for name, entry in LOADERS.items() if issubclass(entry.settings, SpanSettings))
        raise SynparseError(
            f"max_passes needs words, or a model that reads {able}; {config.model_name!r} reads {config.loader_name} "
            '(or write settings = ["train.epochs=N"])'
        )


def _check_teacher(part: Part, source: Source, configs: Sequence[RunConfig]) -> None:
    """Raise SynparseError if a teacher of ``part`` does not give the structures that its students learn from."""
    output = source.output()
    for config in configs:
        needed: Output = entry_of(config).teacher_output or "trees"
        if output != needed:
            fitting = " or ".join(decoders_of(source.gives, needed))
            setting = f'settings = ["parse.decoder={fitting}"]'
            hint = f"{setting} in that part gives them" if fitting else "choose other teachers"
            raise SynparseError(
                f"model {config.model_name!r} learns from {needed}, but its teachers {part.teachers!r} give "
                f"{output}; {hint}"
            )


def _vote(recipe: Recipe, parts: Sequence[Part], sources: dict[str, list[Source]], where: str) -> Source:
    """The vote of the ``sources`` of ``parts``. Raises SynparseError if they cannot vote together."""
    voters = [(part, source) for part in parts for source in sources.get(part.name, ())]
    if not voters:
        raise SynparseError(f"{where}: no part votes; leave out votes = false in at least one part without the vote")
    outputs = set[Output]()
    for part, source in voters:
        with _located(f"{where}: part {part.name!r}"):
            if not source.gives:
                raise SynparseError(f"model {source.name!r} gives no trees, so it cannot vote; write votes = false")
            outputs.add(source.output())
    output: Output = "heads" if outputs == {"heads"} else "trees"
    for part, source in voters:
        if source.output() != output and not decoders_of(source.gives, output):
            raise SynparseError(
                f"{where}: part {part.name!r}: model {source.name!r} gives heads, and other parts give trees, so they "
                "cannot vote together; write votes = false"
            )
    with _located(f"{where}: vote_priors"):
        check_priors(parse_priors(recipe.vote_priors), (STRUCTURES[output],), has_counts=False)
    return Source("vote", (STRUCTURES[output],))
