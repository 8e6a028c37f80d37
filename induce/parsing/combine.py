"""Making an ensemble: members are tried, described and, if that is wanted, copied into its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from induce.parsing.ensemble import DECODERS, SUMS, Description, Ensemble, digest_of
from induce.parsing.load import load_parser, read_trained
from induce.parsing.voters import ParserVoter, Voter, make_voter
from induce.registry import Output, decoders_of
from induce.storage.checkpoint import find
from induce.storage.locate import ENSEMBLE, PathType, locate
from induce.storage.lock import RunLock
from induce.storage.model_spec import ModelSpec, parse_model_spec
from induce.storage.run_folder import check_type
from induce.structures import HeadDistribution
from treebank.base.atomic_write import sync, write_whole
from treebank.base.errors import SynparseError, placed
from treebank.core.normalization import RECIPES

COPIES = "members"  # the folder of packed members; -2 and so on after it where that name is taken
Tell = Callable[[str], None]


def combine(
    members: Sequence[str],
    run: str,
    *,
    pack: bool = False,
    overwrite: bool = False,
    heads: bool = False,
    threshold: float = 0.0,
    sums: bool | None = None,
    decoder: str = "",
    normalization: str = "",
    tell: Tell = lambda line: None,
) -> Ensemble:
    """The ensemble of ``members``, given as model specifications, written into the folder ``run``.

    With ``pack`` the members are copied into it. ``heads``: it gives heads, though some members give trees; these vote
    for the best heads that agree with their tree. ``threshold``: the share of votes that a phrase needs. ``sums``:
    whether probabilities are summed where members give them; by default for heads. ``decoder`` and ``normalization``
    are by default those that fit. Raises SynparseError for what is not there or does not fit together.
    """
    folder = Path(run)
    _check_free(folder, overwrite)
    named = [_with_path(parse_model_spec(text)) for text in members]
    if not named:
        raise SynparseError("an ensemble needs members: runs, files of trees, or baseline:right")
    recipe = normalization or _common_recipe(named)
    if recipe not in RECIPES:
        raise SynparseError(f"there is no normalisation {recipe!r}; known: {', '.join(RECIPES)}")
    voters = [make_voter(member, member.path, RECIPES[recipe], load_parser) for member in named]
    given = {voter.output for voter in voters}
    if heads and "heads" not in given:
        raise SynparseError("none of these members gives heads, so there is nothing to choose heads by")
    output: Output = "heads" if heads or given == {"heads"} else "trees"
    if output == "heads" and threshold:
        raise SynparseError("a threshold is for trees: every word has one head, whatever its votes")
    named = [_made_to_fit(member, voter, output, tell) for member, voter in zip(named, voters, strict=True)]
    description = Description(
        output=output,
        sums=SUMS[output] if sums is None else sums,
        normalization=recipe,
        decoder=decoder or ("mbr-nary" if threshold else _common_decoder(voters, output)),
        members=tuple(_placed(member, folder) for member in named),
        digests=tuple(digest_of(member.path) for member in named),
        threshold=threshold,
        learned_from="; ".join(dict.fromkeys(voter.learned_from for voter in voters if voter.learned_from)),
    )
    ensemble = Ensemble(description, voters)
    lock = RunLock(folder, "program")
    try:
        _check_free(folder, overwrite)  # again: another program may have written it meanwhile
        _put(description, folder, named if pack else ())
    finally:
        lock.release()
    return ensemble


def _put(description: Description, folder: Path, copied: Sequence[ModelSpec]) -> None:
    """Write ``description`` into ``folder``, with copies of the members that are to be ``copied``."""
    before, home = _own_folder(folder), _free_folder(folder)
    try:
        if copied:
            description = replace(description, members=tuple(_packed(copied, home)))
        write(description, folder)
    except BaseException:
        if copied:
            shutil.rmtree(home, ignore_errors=True)
        raise
    if before:
        shutil.rmtree(before, ignore_errors=True)


def write(description: Description, folder: Path) -> None:
    """Writes ensemble.json, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(description.to_json(), indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / ENSEMBLE, text.encode("utf-8", "surrogatepass"))


def _check_free(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise SynparseError(f"{folder}: this is a file; name a folder with -o")
    check_type(folder, PathType.ENSEMBLE)
    if (folder / ENSEMBLE).exists() and not overwrite:
        raise SynparseError(f"{folder}: there is an ensemble already; replace it with --overwrite")


def _with_path(spec: ModelSpec) -> ModelSpec:
    """The specification with the path of the built-in model if it names that."""
    return spec if spec.baseline else replace(spec, path=str(locate(spec.path).path))


def _common_recipe(members: Sequence[ModelSpec]) -> str:
    """The recipe by which all runs see their words, if it is one; else ``words``."""
    recipes = set()
    for member in members:
        if member.baseline:
            continue
        located = locate(member.path)
        if located.type is PathType.ENSEMBLE:
            recipes.add(Description.read(located.path).normalization)
        elif located.is_model:
            recipes.add(read_trained(located.path).config.data.normalization)
    return recipes.pop() if len(recipes) == 1 else "words"


def _common_decoder(voters: Sequence[Voter], output: Output) -> str:
    """Of heads the decoder of all members, if it is one and reads probabilities; else that of `DECODERS`."""
    chosen = {
        voter.parser.decoder if isinstance(voter, ParserVoter) else "" for voter in voters if voter.output == output
    }
    shared = chosen.pop() if len(chosen) == 1 else ""
    return shared if output == "heads" and shared in decoders_of((HeadDistribution,)) else DECODERS[output]


def _made_to_fit(member: ModelSpec, voter: Voter, output: Output, tell: Tell) -> ModelSpec:
    """The member, with the decoder ``heads-to-tree`` where a run of heads votes for trees."""
    if voter.output == output or output == "heads":
        return member
    if isinstance(voter, ParserVoter) and not member.decoder and output == "trees":
        fitting = decoders_of(voter.parser.gives, output)
        if fitting:
            voter.parser.choose(fitting[0])
            tell(f"{member.name} gives heads; its trees are those of the decoder {fitting[0]!r}")
            return replace(member, decoder=fitting[0])
    raise SynparseError(
        f"{member.name} gives {voter.output}, and other members {output}; they cannot vote together, except for heads "
        "(--heads)"
    )


def _placed(member: ModelSpec, folder: Path) -> ModelSpec:
    """The member with a path that leads there from ``folder``: relative beside or below it, else absolute."""
    if member.baseline:
        return member
    path, home = Path(member.path).resolve(), folder.resolve()
    near = path.is_relative_to(home.parent)
    return replace(member, path=os.path.relpath(path, home) if near else str(path))


def _packed(members: Sequence[ModelSpec], home: Path) -> list[ModelSpec]:
    """The members after they were copied to the folder ``home`` in that of the ensemble."""
    paths = list(dict.fromkeys(one.path for one in members if not one.baseline))
    copies = {path: home / f"{number}-{Path(path).resolve().name}" for number, path in enumerate(paths, 1)}
    with placed(home):
        for path, copy in copies.items():
            _copy(Path(path), copy)
        for place in (home, *home.rglob("*")) if copies else ():
            sync(place)
    return [one if one.baseline else replace(one, path=f"{home.name}/{copies[one.path].name}") for one in members]


def _free_folder(folder: Path) -> Path:
    """Where copies of members go: not where an ensemble that is replaced has its own, or the user something else."""
    names = chain([COPIES], (f"{COPIES}-{number}" for number in count(2)))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _own_folder(folder: Path) -> Path | None:
    """The folder in ``folder`` with the members of the ensemble there, if there is a whole one that was packed."""
    try:
        members = Description.read(folder).members
    except (OSError, SynparseError):
        return None
    return next((folder / Path(one.path).parts[0] for one in members if _is_packed(one)), None)


def _is_packed(member: ModelSpec) -> bool:
    """Whether the member lies in the folder of its ensemble."""
    return not member.baseline and bool(re.match(rf"{COPIES}(-\d+)?/", member.path))


def _copy(source: Path, target: Path) -> None:
    """A file, parsed text, a run's best checkpoint without the trainer's state, or an ensemble with packed members."""
    target.parent.mkdir(parents=True, exist_ok=True)
    type_ = locate(source).type
    if type_ in (PathType.FILE, PathType.PACKED):
        shutil.copyfile(source, target)
    elif type_ is PathType.PARSED:
        shutil.copytree(source, target)
    elif type_ is PathType.ENSEMBLE:
        members = Description.read(source).members
        if not all(member.baseline or _is_packed(member) for member in members):
            raise SynparseError(f"{source}: the members of this ensemble lie elsewhere; combine it with --pack first")
        shutil.copytree(source, target)
    else:
        shutil.copytree(find(source), target, ignore=shutil.ignore_patterns("trainer.pt"))
