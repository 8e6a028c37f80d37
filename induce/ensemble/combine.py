"""Writing of ensembles: a plan is resolved into a description, which is written with copies of the members if asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from numbers import Real
from pathlib import Path

from induce.data.normalization import RECIPES
from induce.decoding.specification import canonical_decoder, decoder_entry, decoders_of
from induce.ensemble.ensemble import Ensemble
from induce.ensemble.ensemble_description import COPIES, EnsembleDescription, Member
from induce.ensemble.voters import ParserVoter, Voter, make_voter
from induce.parsing.load import load_parser, read_trained
from induce.registry import Output
from induce.storage.checkpoint import find
from induce.storage.folders import TRAINER
from induce.storage.locate import ENSEMBLE, PathType, locate
from induce.storage.lock import RunLock
from induce.storage.model_spec import ModelSpec, expand_models, parse_model_spec
from induce.storage.run_folder import check_type
from induce.structures import HeadDistribution
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError, placed
from treebank.base.files import sync

DECODERS: dict[Output, str] = {"trees": "mbr", "heads": "mbr-heads"}
SUMS: dict[Output, bool] = {"trees": False, "heads": True}  # the better way to vote for each output
Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class EnsemblePlan:
    """A request for an ensemble. None and empty values stand for the choice that fits the members."""

    heads: bool = False  # give heads although some members give trees
    threshold: float = 0.0  # share of votes that a phrase needs
    sums: bool | None = None  # whether to sum probabilities
    decoder: str = ""
    normalization: str = ""

    def __post_init__(self) -> None:
        """Raises SynparseError for a threshold that is not a share."""
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold < 1):
            raise SynparseError(f"threshold cannot be {self.threshold!r}; give a share from 0 to below 1")

    def resolve(self, specs: Sequence[ModelSpec], report: Report) -> Ensemble:
        """The ensemble of the members.

        Raises SynparseError if they are missing or cannot vote together, or if the decoder is unknown.
        """
        if not specs:
            raise SynparseError("an ensemble needs members: models, files of trees, or baseline:right")
        if self.decoder:
            decoder_entry(self.decoder)
        recipe = self.normalization or _common_recipe(specs)
        if recipe not in RECIPES:
            raise SynparseError(f"there is no normalization {recipe!r}; known: {', '.join(RECIPES)}")
        voters = [make_voter(spec, spec.path, RECIPES[recipe], load_parser) for spec in specs]
        output = self._output(voters)
        fitted = [_with_decoder(spec, voter, output, report) for spec, voter in zip(specs, voters, strict=True)]
        default = "mbr-nary" if self.threshold else _common_decoder(voters, output)
        description = EnsembleDescription(
            output=output,
            sums=SUMS[output] if self.sums is None else self.sums,
            normalization=recipe,
            decoder=canonical_decoder(self.decoder or default),
            members=tuple(map(Member.of, fitted)),
            threshold=self.threshold,
            learned_from="; ".join(dict.fromkeys(voter.learned_from for voter in voters if voter.learned_from)),
            head_style=_common_style(voters),
        )
        return Ensemble(description, voters)

    def _output(self, voters: Sequence[Voter]) -> Output:
        outputs = {voter.output for voter in voters}
        if self.heads and "heads" not in outputs:
            raise SynparseError("none of these members gives heads, so there is nothing to choose heads by")
        output: Output = "heads" if self.heads or outputs == {"heads"} else "trees"
        if output == "heads" and self.threshold:
            raise UsageError("a threshold is for trees: every word has one head, whatever its votes")
        return output


def combine(
    members: Sequence[str],
    run: str,
    *,
    pack: bool = False,
    overwrite: bool = False,
    tell: Report = ignore,
    **plan: object,
) -> Ensemble:
    """Write the ensemble of ``members``, model specifications or patterns, into the folder ``run`` and return it.

    With ``pack`` the members are copied into the folder. ``plan`` are fields of `EnsemblePlan`; ``tell`` is called with
    a message for each decoder that is chosen. Raises SynparseError if the folder cannot be written or the members
    cannot vote together.
    """
    folder = Path(run)
    _check_free(folder, overwrite)
    names = [name for text in members for name in expand_models([text])[text]]
    specs = [_with_path(parse_model_spec(name)) for name in names]
    _check_not_inside(specs, folder)
    ensemble = EnsemblePlan(**plan).resolve(specs, tell)  # type: ignore[arg-type]
    lock = RunLock(folder, "program")
    try:
        _check_free(folder, overwrite)  # again, in case another program has written it in the meantime
        description = _write(ensemble.description, folder, pack=pack)
    finally:
        lock.release()
    ensemble.description = description
    return ensemble


def _write(description: EnsembleDescription, folder: Path, *, pack: bool) -> EnsembleDescription:
    """Write ensemble.json, with copies of the members if ``pack``, and remove copies that nothing uses any more."""
    earlier, copies = _earlier_copies(folder), _free_folder(folder)
    try:
        if pack:
            members = _copied(description.members, copies)
        else:
            members = [_located(member, folder) for member in description.members]
        stored = replace(description, members=tuple(members))
        stored.write(folder)
    except BaseException:
        if pack:
            shutil.rmtree(copies, ignore_errors=True)
        raise
    if earlier and not any((folder / member.path).resolve().is_relative_to(earlier.resolve()) for member in members):
        shutil.rmtree(earlier, ignore_errors=True)
    return stored


def _check_free(folder: Path, overwrite: bool) -> None:
    check_type(folder, PathType.ENSEMBLE, PathType.JOB)
    if (folder / ENSEMBLE).exists() and not overwrite:
        raise SynparseError(f"{folder}: there is an ensemble already; replace it with --overwrite")


def _check_not_inside(specs: Sequence[ModelSpec], folder: Path) -> None:
    """Raises SynparseError if ``folder`` is one of the members, or inside one of them."""
    for spec in specs:
        if not spec.baseline and folder.resolve().is_relative_to(Path(spec.path).resolve()):
            raise SynparseError(f"{spec.path}: this member would be overwritten; name another folder with -o")


def _with_path(spec: ModelSpec) -> ModelSpec:
    """The specification with the path of the file if it names the built-in model."""
    return spec if spec.baseline else replace(spec, path=str(locate(spec.path).path))


def _common_recipe(specs: Sequence[ModelSpec]) -> str:
    """The recipe by which all models normalize their text, or ``words`` if they differ."""
    recipes = set()
    for spec in specs:
        located = None if spec.baseline else locate(spec.path)
        if located and located.type is PathType.ENSEMBLE:
            recipes.add(EnsembleDescription.read(located.path).normalization)
        elif located and located.is_model:
            recipes.add(read_trained(located.path).config.data.normalization)
    return recipes.pop() if len(recipes) == 1 else "words"


def _common_decoder(voters: Sequence[Voter], output: Output) -> str:
    """For heads the decoder of all members, if it is the same and reads probabilities, else that of `DECODERS`."""
    names = {
        voter.parser.decoder if isinstance(voter, ParserVoter) else "" for voter in voters if voter.output == output
    }
    shared = names.pop() if len(names) == 1 else ""
    return shared if output == "heads" and shared in decoders_of((HeadDistribution,)) else DECODERS[output]


def _common_style(voters: Sequence[Voter]) -> str:
    """The style of heads of all members that give heads, or "" if they differ."""
    styles = {voter.head_style for voter in voters if voter.output == "heads"}
    return styles.pop() if len(styles) == 1 else ""


def _with_decoder(spec: ModelSpec, voter: Voter, output: Output, report: Report) -> ModelSpec:
    """The specification, with the decoder ``heads-to-tree`` if a model of heads votes for trees."""
    if voter.output == output or output == "heads":
        return spec
    if isinstance(voter, ParserVoter) and not spec.decoder:
        fitting = decoders_of(voter.parser.gives, output)
        if fitting:
            voter.parser.choose(fitting[0])
            report(f"{spec.name} gives heads; its trees are those of the decoder {fitting[0]!r}")
            return replace(spec, decoder=fitting[0])
    raise SynparseError(
        f"{spec.name} gives {voter.output}, and other members {output}; they cannot vote together, except for heads "
        "(--heads)"
    )


def _located(member: Member, folder: Path) -> Member:
    """The member with a path from ``folder``: relative if it is next to or inside the folder, else absolute."""
    if member.baseline:
        return member
    path, base = Path(member.path).resolve(), folder.resolve()
    return replace(member, path=os.path.relpath(path, base) if path.is_relative_to(base.parent) else str(path))


def _copied(members: Sequence[Member], folder: Path) -> list[Member]:
    """The members after they were copied into ``folder``, with paths from the folder of the ensemble."""
    paths = list(dict.fromkeys(member.path for member in members if not member.baseline))
    copies = {path: folder / f"{number}-{Path(path).resolve().name}" for number, path in enumerate(paths, 1)}
    with placed(folder):
        for path, copy in copies.items():
            _copy(Path(path), copy)
        for file in (folder, *folder.rglob("*")) if copies else ():
            sync(file)
    return [
        member if member.baseline else replace(member, path=f"{folder.name}/{copies[member.path].name}")
        for member in members
    ]


def _free_folder(folder: Path) -> Path:
    """A folder for copies of members whose name is not taken, by an earlier ensemble or by the user."""
    names = chain([COPIES], (f"{COPIES}-{number}" for number in count(2)))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _earlier_copies(folder: Path) -> Path | None:
    """The folder with the copies of members of the ensemble in ``folder``, if it has any."""
    try:
        members = EnsembleDescription.read(folder).members
    except (OSError, SynparseError):
        return None
    return next((folder / Path(member.path).parts[0] for member in members if member.is_copied), None)


def _copy(source: Path, target: Path) -> None:
    """Copy a file, parsed text, a model's best checkpoint without the trainer's state, or an ensemble with members."""
    target.parent.mkdir(parents=True, exist_ok=True)
    type_ = locate(source).type
    if type_ in (PathType.FILE, PathType.PACKED):
        shutil.copyfile(source, target)
    elif type_ is PathType.PARSED:
        shutil.copytree(source, target)
    elif type_ is PathType.ENSEMBLE:
        target.mkdir()
        description = EnsembleDescription.read(source)
        members = [
            member if member.baseline else replace(member, path=str(source / member.path))
            for member in description.members
        ]
        _write(replace(description, members=tuple(members)), target, pack=True)
    else:
        shutil.copytree(find(source), target, ignore=shutil.ignore_patterns(TRAINER))
