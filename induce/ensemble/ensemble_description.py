"""The description of an ensemble in ``ensemble.json``: its members with weights and digests, and how they vote."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from induce.data.normalization import RECIPES
from induce.registry import DECODERS, Output
from induce.storage.checkpoint import find
from induce.storage.folders import FACTS_FILE, VOCABULARY, WEIGHTS
from induce.storage.locate import ENSEMBLE, PathType, locate
from induce.storage.model_spec import ModelSpec
from treebank.base.errors import SynparseError
from treebank.base.files import digest_files, digest_json
from treebank.base.metadata import FileFormat, encode, read_metadata, write_metadata
from treebank.io.parsed_folder import parsed_files

FORMAT = FileFormat(2, "the description of an ensemble", "combine it again")
COPIES = "members"  # folder of the copies of members; with -2 and so on if that name is taken


@dataclass(frozen=True, kw_only=True)
class Member(ModelSpec):
    """A member with the digest of the files that decide its trees, or "" for a baseline."""

    sha256: str = ""

    @classmethod
    def of(cls, spec: ModelSpec) -> Member:
        """The member that a specification names, with its present digest."""
        return cls(**asdict(spec), sha256="" if spec.baseline else digest_of(spec.path))

    @property
    def is_copied(self) -> bool:
        """Whether the files of the member are in the folder of its ensemble."""
        return not self.baseline and bool(re.match(rf"{COPIES}(-\d+)?/", self.path))


@dataclass(frozen=True, kw_only=True)
class EnsembleDescription:
    """The content of ensemble.json. Paths of members are relative to its folder."""

    output: Output
    sums: bool  # whether probabilities are summed if members give them; otherwise each member's tree votes
    normalization: str  # recipe that selects the words which are voted on
    decoder: str
    members: tuple[Member, ...]
    threshold: float = 0.0  # share of the votes that a phrase needs; 0 gives binary trees
    learned_from: str = ""
    head_style: str = ""  # "content" or "function" if all members that give heads state it

    def __post_init__(self) -> None:
        """Raises ValueError for names that are not known and a threshold that is not a share."""
        if not self.members:
            raise ValueError("there are no members")
        if self.normalization not in RECIPES or self.decoder.partition(":")[0] not in DECODERS:
            raise ValueError("its normalization or its decoder is unknown")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"a threshold is a share from 0 to below 1, not {self.threshold:g}")

    @property
    def digest(self) -> str:
        """The digest of everything that decides the trees, wherever the members are stored."""
        members = tuple(replace(member, path="") if member.sha256 else member for member in self.members)
        return digest_json(encode(replace(self, members=members)))

    @classmethod
    def read(cls, folder: Path) -> EnsembleDescription:
        """The description in ``folder``. Raises MetadataError if it is missing or damaged."""
        return read_metadata(folder / ENSEMBLE, cls, FORMAT)

    def write(self, folder: Path) -> None:
        """Write ensemble.json, which is replaced as a whole."""
        folder.mkdir(parents=True, exist_ok=True)
        write_metadata(folder / ENSEMBLE, self, FORMAT)


def digest_of(path: str) -> str:
    """The SHA-256 of the files that decide the trees of a model, a file of trees, or a folder of parsed text."""
    located = locate(path)
    if located.type is PathType.PARSED:
        return digest_files(parsed_files(path))
    if located.type is PathType.ENSEMBLE:
        return EnsembleDescription.read(located.path).digest
    if located.type in (PathType.FILE, PathType.PACKED):
        return digest_files([located.path])
    folder = find(located.path)
    return digest_files(folder / name for name in (FACTS_FILE, VOCABULARY, WEIGHTS))


def packable_model(run: str) -> str:
    """The only member of an ensemble, such as the result of a recipe, or ``run`` itself if it is not an ensemble.

    Raises SynparseError for other ensembles.
    """
    if locate(run).type is not PathType.ENSEMBLE:
        return run
    members = EnsembleDescription.read(Path(run)).members
    paths = [os.path.normpath(Path(run) / member.path) for member in members if not member.baseline]
    if len(members) == 1 and paths and not members[0].options:
        return paths[0]
    models = [path for path in paths if locate(path).is_model]
    example = f"pack a member, such as -m {shlex.quote(models[-1])}, or " if models else ""
    remedy = f"{example}copy all members into a folder: synparse combine {shlex.quote(run)} --pack -o FOLDER"
    raise SynparseError(f"{run}: a file holds one model, and this is an ensemble; {remedy}")


def models_of(run: str) -> list[str]:
    """The models in an ensemble and in the ensembles among its members, or the model itself.

    Raises SynparseError if all members are files and baselines.
    """
    if locate(run).type is not PathType.ENSEMBLE:
        return [run]
    members = EnsembleDescription.read(Path(run)).members
    paths = [os.path.normpath(Path(run) / member.path) for member in members if not member.baseline]
    models = [model for path in paths if locate(path).is_model for model in models_of(path)]
    if not models:
        raise SynparseError(f"{run}: no member of this ensemble is a model, so there are no probabilities of words")
    return list(dict.fromkeys(models))
