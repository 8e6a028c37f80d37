"""Writing of ensembles: a plan is resolved into a description, which names the members or is written with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory

from induce.data.vocabulary import RECIPES
from induce.decoding.priors import requested_priors
from induce.decoding.specification import canonical_decoder, decoder_entry, decoders_of
from induce.ensemble.ensemble import STRUCTURES, Ensemble, load_ensemble
from induce.ensemble.ensemble_description import EnsembleDescription, Member, members_folder
from induce.ensemble.voters import ParserVoter, Voter, make_voter
from induce.parsing.load import load_parser, read_trained
from induce.registry import Output
from induce.storage.checkpoint import find
from induce.storage.locate import ENSEMBLE, ModelSpec, PathType, expand_models, locate, parse_model_spec
from induce.storage.model_file import MODEL
from induce.storage.outputs import RunLock, check_output, check_type
from induce.structures import HeadDistribution
from treebank.base.arguments import ignore, split_name
from treebank.base.errors import SynparseError, UsageError
from treebank.base.files import write_whole
from treebank.io.read import BATCH_NOTE, parsed_files

DECODERS: dict[Output, str] = {"trees": "mbr", "heads": "mbr-heads"}
SUMS: dict[Output, bool] = {"trees": False, "heads": True}  # the better way to vote for each output
SUFFIX = ".safetensors"  # of an ensemble in one file
Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class EnsemblePlan:
    """A request for an ensemble. None and empty values stand for the choice that fits the members."""

    heads: bool = False  # give heads although some members give trees
    threshold: float = 0.0  # share of votes that a phrase needs
    sums: bool | None = None  # whether to sum probabilities
    priors: str | None = None  # of the votes: none, or NAME:STRENGTH,…
    decoder: str = ""
    normalization: str = ""

    def __post_init__(self) -> None:
        """Raises SynparseError for a threshold that is not a share."""
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold < 1):
            raise SynparseError(f"threshold cannot be {self.threshold!r}; give a share from 0 to below 1")

    def resolve(self, specs: Sequence[ModelSpec], report: Report) -> Ensemble:
        """The ensemble of the members.

        Raises SynparseError if they are missing or cannot vote together, if the decoder is unknown, or if a prior has
        no effect on their votes.
        """
        if not specs:
            raise SynparseError("an ensemble needs members: models, files of trees, or baseline:right")
        if self.decoder:
            decoder_entry(self.decoder)
        recipe = self.normalization or _common_recipe(specs)
        if recipe not in RECIPES:
            raise SynparseError(f"there is no normalization {recipe!r}; known: {', '.join(RECIPES)}")
        voters = [make_voter(spec, spec.path, RECIPES[recipe], load_parser) for spec in specs]
        outputs = {voter.output for voter in voters}
        if self.heads and "heads" not in outputs:
            raise SynparseError("none of these members gives heads, so there is nothing to choose heads by")
        output: Output = "heads" if self.heads or outputs == {"heads"} else "trees"
        if output == "heads" and self.threshold:
            raise UsageError("a threshold is for trees: every word has one head, whatever its votes")
        priors = requested_priors(self.priors, (), (STRUCTURES[output],))
        fitted = [_with_decoder(spec, voter, output, report) for spec, voter in zip(specs, voters, strict=True)]
        default = "mbr-nary" if self.threshold else _common_decoder(voters, output)
        styles = {voter.head_style for voter in voters if voter.output == "heads"}
        description = EnsembleDescription(
            output=output,
            sums=SUMS[output] if self.sums is None else self.sums,
            normalization=recipe,
            decoder=canonical_decoder(self.decoder or default),
            members=tuple(map(Member.of, fitted)),
            threshold=self.threshold,
            priors=tuple(map(str, priors)),
            learned_from="; ".join(dict.fromkeys(voter.learned_from for voter in voters if voter.learned_from)),
            head_style=styles.pop() if len(styles) == 1 else "",
        )
        return Ensemble(description, voters)


def combine(
    members: Sequence[str],
    run: str,
    *,
    overwrite: bool = False,
    replace_model: bool = False,
    is_locked: bool = False,
    report: Report = ignore,
    **plan: object,
) -> Ensemble:
    """Write the ensemble of ``members``, model specifications or patterns, and return it.

    If ``run`` ends with ``.safetensors``, it is a file that contains the members; otherwise it is a folder that names
    them. ``plan`` are fields of `EnsemblePlan`; ``report`` is called with a message for each decoder that is chosen. A
    single ensemble without options is copied; in a file, an ensemble of one model is this model. With
    ``replace_model``, the model in the folder is deleted after the ensemble is written. ``is_locked`` says that the
    caller holds the lock of the folder. Raises SynparseError if the ensemble cannot be written or the members cannot
    vote together.
    """
    if run == "-":
        raise UsageError("-o -: an ensemble cannot be written to standard output; name a file or a folder")
    target = Path(run)
    names = [split_name(name)[1] for text in members for group in expand_models([text]).values() for name in group]
    specs = [parse_model_spec(name) for name in names]
    specs = [spec if spec.baseline else replace(spec, path=str(locate(spec.path).path)) for spec in specs]  # built-in
    others = [PathType.MODEL] if replace_model else []
    _check_free(target, specs, overwrite, *others)
    copied = _only_ensemble(specs, plan)
    ensemble = copied or EnsemblePlan(**plan).resolve(specs, report)  # type: ignore[arg-type]
    if target.suffix == SUFFIX:
        if copied and (model := _only_model(copied.description)):
            write_whole(target, model.read_bytes())
        else:
            _write_file(ensemble.description, target)
        return ensemble
    is_new = not target.exists()
    lock = None if is_locked else RunLock(target, "program")
    try:
        _check_free(target, specs, overwrite, *others)  # again, in case another program has written it in the meantime
        description = ensemble.description.seen_from(target)
        description.write(target)
        if replace_model:  # from now on, the folder is an ensemble (`locate`)
            (target / MODEL).unlink(missing_ok=True)
    finally:
        if lock:
            lock.release()
        if is_new:
            with suppress(OSError):  # not empty: the ensemble was written
                target.rmdir()
    return Ensemble(description, ensemble.voters)


def _only_ensemble(specs: Sequence[ModelSpec], plan: Mapping[str, object]) -> Ensemble | None:
    """The ensemble that is the only member, if it has no options and nothing else is requested."""
    is_copy = len(specs) == 1 and not specs[0].options and EnsemblePlan(**plan) == EnsemblePlan()  # type: ignore[arg-type]
    if not is_copy or locate(specs[0].path).type is not PathType.ENSEMBLE:
        return None
    ensemble = load_ensemble(Path(specs[0].path))
    return Ensemble(_located_description(Path(specs[0].path)), ensemble.voters)


def _only_model(description: EnsembleDescription) -> Path | None:
    """The file of the only member, if it is a model without options, such as the result of a recipe."""
    first, *others = description.members
    if others or first.options or first.baseline or description.threshold:
        return None
    return find(Path(first.path)) if locate(first.path).type in (PathType.MODEL, PathType.MODEL_FILE) else None


def _located_description(path: Path) -> EnsembleDescription:
    """The description of an ensemble with the paths of its members."""
    return EnsembleDescription.read(path).located(members_folder(path))


def _write_file(description: EnsembleDescription, target: Path) -> None:
    """Write the ensemble with its members, ensembles among them as files of their own, as the file ``target``."""
    files: dict[str, Path] = {}
    members: dict[str, str] = {}  # path -> name in the file
    with TemporaryDirectory() as temporary:
        for number, path in enumerate(dict.fromkeys(m.path for m in description.members if not m.baseline), 1):
            source = Path(path)
            name = members[path] = f"{number}-{source.resolve().name}"
            type_ = locate(source).type
            if type_ is PathType.PARSED:
                names = [BATCH_NOTE, *(os.path.relpath(file, source) for file in parsed_files(path))]
                files |= {f"{name}/{inner}": source / inner for inner in names}
            elif type_ is PathType.ENSEMBLE:
                files[name] = Path(temporary, name)
                _write_file(_located_description(source), files[name])
            else:
                files[name] = find(source)
        copied = [m if m.baseline else replace(m, path=members[m.path]) for m in description.members]
        replace(description, members=tuple(copied)).write_file(target, files)


def _check_free(target: Path, specs: Sequence[ModelSpec], overwrite: bool, *others: PathType) -> None:
    """Raises SynparseError if ``target`` exists and must not be replaced, or is a member or inside a member.

    A folder may contain ``others``.
    """
    if target.suffix == SUFFIX:
        check_output(str(target))
        exists = os.path.lexists(target)
        if exists and locate(target).type not in (PathType.ENSEMBLE, PathType.MODEL_FILE):
            raise SynparseError(f"{target}: not a model, so it is not overwritten; name another file with -o")
    else:
        check_type(target, PathType.ENSEMBLE, PathType.JOB, *others)
        exists = (target / ENSEMBLE).exists()
    for spec in specs:
        if not spec.baseline and target.resolve().is_relative_to(Path(spec.path).resolve()):
            raise SynparseError(f"{spec.path}: this member would be overwritten; name another output with -o")
    if exists and not overwrite:
        raise SynparseError(f"{target}: there is an ensemble already; replace it with --overwrite")


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


def _with_decoder(spec: ModelSpec, voter: Voter, output: Output, report: Report) -> ModelSpec:
    """The specification, with the decoder ``heads-to-tree`` if a model of heads votes for trees."""
    if voter.output == output or output == "heads":
        return spec
    if isinstance(voter, ParserVoter) and not spec.decoder:
        fitting = decoders_of(voter.parser.gives, output)
        if fitting:
            voter.parser.choose_decoder(fitting[0])
            report(f"{spec.name} gives heads; its trees are those of the decoder {fitting[0]!r}")
            return replace(spec, decoder=fitting[0])
    raise SynparseError(
        f"{spec.name} gives {voter.output}, and other members {output}; they cannot vote together, except for heads "
        "(--heads)"
    )
