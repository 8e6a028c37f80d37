"""The description of an ensemble: its members with weights and digests, and how they vote.

An ensemble is a folder whose ``ensemble.json`` names the members, or one safetensors file that contains them: the
description is in its header, and each member is a tensor of bytes.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from induce.data.vocabulary import RECIPES
from induce.registry import DECODERS, Output
from induce.storage.checkpoint import find
from induce.storage.locate import ENSEMBLE, ModelSpec, PathType, locate
from induce.storage.model_file import ENSEMBLE_KEY, padded_header, read_header
from treebank.base.errors import SynparseError, placed
from treebank.base.files import digest_files, digest_json, replacing
from treebank.base.metadata import (
    FileFormat,
    encode,
    format_error,
    metadata_bytes,
    open_regular,
    parse_metadata,
    read_metadata,
    write_metadata,
)
from treebank.io.read import parsed_files

FORMAT = FileFormat(2, "the description of an ensemble", "combine it again")
MEMBER_FILE = re.compile(r"\d+-[^/\0]+(/(?!\.{1,2}(/|$))[^/\0]+)*")  # a name in the file of an ensemble
COPY_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Member(ModelSpec):
    """A member with the digest of the files that decide its trees, or "" for a baseline."""

    sha256: str = ""

    @classmethod
    def of(cls, spec: ModelSpec) -> Member:
        """The member that a specification names, with its present digest."""
        return cls(**asdict(spec), sha256="" if spec.baseline else digest_of(spec.path))


@dataclass(frozen=True, kw_only=True)
class EnsembleDescription:
    """The members of an ensemble and how they vote. Paths of members are relative to its folder."""

    output: Output
    sums: bool  # whether probabilities are summed if members give them; otherwise each member's tree votes
    normalization: str  # recipe that selects the words which are voted on
    decoder: str
    members: tuple[Member, ...]
    threshold: float = 0.0  # share of the votes that a phrase needs; 0 gives binary trees
    priors: tuple[str, ...] = ()  # of the votes, besides those of the members
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
    def read(cls, path: Path) -> EnsembleDescription:
        """The description in a folder or file. Raises MetadataError if it is missing or damaged."""
        if path.is_dir():
            return read_metadata(path / ENSEMBLE, cls, FORMAT)
        return _open(path)[0]

    def located(self, folder: Path) -> EnsembleDescription:
        """The description with the paths of the members in ``folder``."""
        return replace(
            self,
            members=tuple(
                member if member.baseline else replace(member, path=os.path.normpath(folder / member.path))
                for member in self.members
            ),
        )

    def seen_from(self, folder: Path) -> EnsembleDescription:
        """The description for ``folder``: paths next to or inside it are relative, others are absolute."""
        base, members = folder.resolve(), []
        for member in self.members:
            path = Path(member.path).resolve()
            name = os.path.relpath(path, base) if path.is_relative_to(base.parent) else str(path)
            members.append(member if member.baseline else replace(member, path=name))
        return replace(self, members=tuple(members))

    def write(self, folder: Path) -> None:
        """Write ensemble.json, which is replaced as a whole."""
        folder.mkdir(parents=True, exist_ok=True)
        write_metadata(folder / ENSEMBLE, self, FORMAT)

    def write_file(self, path: Path, files: Mapping[str, Path]) -> None:
        """Write the ensemble with its members as the file ``path``: ``files`` by the names that the members have."""
        table, end = {}, 0
        for name, file in files.items():
            size = file.stat().st_size
            table[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
            end += size
        text = metadata_bytes(self, FORMAT).decode()
        with replacing(path) as stream:
            stream.write(padded_header({"__metadata__": {ENSEMBLE_KEY: text}, **table}))
            for file in files.values():
                with placed(file), file.open("rb") as source:
                    shutil.copyfileobj(source, stream, COPY_BYTES)


def members_folder(path: Path) -> Path:
    """The folder from which the paths of the members count: that of the ensemble.

    The members in a file are copied to a temporary folder, which exists until the program ends, so that they are read
    like other members. Raises MetadataError if the file is damaged.
    """
    if path.is_dir():
        return path
    description, table, start = _open(path)
    paths = {member.path for member in description.members}
    folder = Path(tempfile.mkdtemp(prefix="synparse-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with open_regular(path) as stream, placed(folder):
        for name, entry in table.items():
            first, last = entry["data_offsets"]
            if not MEMBER_FILE.fullmatch(name) or name.partition("/")[0] not in paths:
                raise format_error(path, FORMAT, ValueError(f"{name!r} is not a name of a member"))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            stream.seek(start + first)
            with (folder / name).open("xb") as target:
                while block := stream.read(min(COPY_BYTES, last - first)):
                    target.write(block)
                    first += len(block)
    return folder


def _open(path: Path) -> tuple[EnsembleDescription, dict[str, dict[str, list[int]]], int]:
    """The description in the file of an ensemble, its table of members, and the position of their bytes."""
    with open_regular(path) as stream:
        try:
            (text,), table, start = read_header(stream, ENSEMBLE_KEY)
        except ValueError as error:
            raise format_error(path, FORMAT, error) from None
    return parse_metadata(text, EnsembleDescription, FORMAT, name=str(path)), table, start


def digest_of(path: str) -> str:
    """The SHA-256 of the files that decide the trees of a model, a file of trees, or a folder of parsed text."""
    located = locate(path)
    if located.type is PathType.PARSED:
        return digest_files(parsed_files(path))
    if located.type is PathType.ENSEMBLE:
        return EnsembleDescription.read(located.path).digest
    return digest_files([find(located.path)])


def models_of(run: str) -> list[str]:
    """The models in an ensemble and in the ensembles among its members, or the model itself.

    Raises SynparseError if all members are files and baselines.
    """
    if locate(run).type is not PathType.ENSEMBLE:
        return [run]
    members = EnsembleDescription.read(Path(run)).located(members_folder(Path(run))).members
    paths = [member.path for member in members if not member.baseline]
    models = [model for path in paths if locate(path).is_model for model in models_of(path)]
    if not models:
        raise SynparseError(f"{run}: no member of this ensemble is a model, so there are no probabilities of words")
    return list(dict.fromkeys(models))
