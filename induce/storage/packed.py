"""Models packed in one file: an uncompressed zip of the three files of a checkpoint with their digests.

Untrusted files are read only as text, JSON and safetensors. A packed file contains nothing else, no name in it leads
out of its folder, and no part is larger than recorded.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treebank.base.errors import SynparseError, placed
from treebank.base.files import FileFacts, copy_with_digest, describe_file, digest_file, replacing
from treebank.base.metadata import FileFormat, MetadataError, metadata_bytes, one_line, parse_metadata

PARTS = ("checkpoint.json", "vocabulary.txt", "weights.safetensors")
MANIFEST = "manifest.json"
FORMAT = FileFormat(2, "the manifest of a packed model", "copy the file again")
LARGEST_MANIFEST = 1 << 16  # bytes
END_BYTES, END_SIGNATURE = 22, b"PK\x05\x06"  # of an archive without a comment
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every part, so that the same model gives the same file


class PackError(SynparseError):
    """A damaged packed model, or a file that is not a packed model."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of manifest.json: size and digest of each part."""

    files: dict[str, FileFacts]

    def __post_init__(self) -> None:
        """Raises ValueError for other parts than `PARTS`."""
        if self.files.keys() != set(PARTS):
            raise ValueError(f"it describes other parts than {', '.join(PARTS)}")


def write_packed(folder: Path, target: str) -> str:
    """Write the checkpoint in ``folder`` to the file ``target`` and return the file's SHA-256.

    An earlier file of that name is safe until all is written. Raises SynparseError for a part that is missing.
    """
    for name in PARTS:
        if not (folder / name).is_file():
            raise PackError(f"{folder / name}: missing; this folder holds no whole model")
    manifest = Manifest(files={name: describe_file(folder / name) for name in PARTS})
    with replacing(target) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), metadata_bytes(manifest, FORMAT))
        for name in PARTS:
            with (folder / name).open("rb") as source, packed.open(zipfile.ZipInfo(name, EPOCH), "w") as sink:
                shutil.copyfileobj(source, sink)
    return digest_file(target)


def is_packed(path: Path) -> bool:
    """Whether the file ``path`` looks like a packed model."""
    try:
        with zipfile.ZipFile(path) as packed:
            return MANIFEST in packed.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False


def unpack(path: Path) -> Path:
    """A temporary folder with the checkpoint in the file ``path``, which exists until the program ends.

    Raises PackError if the file is not a packed model, or if anything in it does not match its digests.
    """
    folder = Path(tempfile.mkdtemp(prefix="synparse-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with _opened(path) as packed:
            for name, fact in _manifest(path, packed).items():
                _copy(path, packed, name, fact, folder / name)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, ValueError) as error:
        problem = f"not a packed model, or a damaged one ({one_line(error)})"
        raise PackError(f"{path}: {problem}; -m takes the folder of a model, or what synparse pack wrote") from None
    return folder


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive in the file ``path``. Raises BadZipFile if bytes are missing, or were added before or after it."""
    try:
        with zipfile.ZipFile(path) as packed:
            starts = min((info.header_offset for info in packed.infolist()), default=0)
            with path.open("rb") as stream:
                stream.seek(-END_BYTES, os.SEEK_END)
                end = stream.read(len(END_SIGNATURE))
            if starts or end != END_SIGNATURE:
                raise zipfile.BadZipFile("there are bytes before or after the archive")
            yield packed
    except OSError as error:
        if error.errno != errno.EINVAL:  # a position outside the file
            raise
        raise zipfile.BadZipFile("bytes are missing") from None


def _manifest(path: Path, packed: zipfile.ZipFile) -> dict[str, FileFacts]:
    """Size and digest of each part. Raises PackError if there is anything else in the file."""
    infos = {info.filename: info for info in packed.infolist()}
    if sorted(infos) != sorted((*PARTS, MANIFEST)) or len(packed.infolist()) != len(infos):
        raise PackError(f"{path}: not a packed model: it should hold {', '.join((*PARTS, MANIFEST))} and nothing else")
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos.values()):
        raise PackError(f"{path}: not a packed model: its parts are compressed")
    if infos[MANIFEST].file_size > LARGEST_MANIFEST:
        raise PackError(f"{path}: not a packed model: {MANIFEST} is too large")
    try:
        manifest = parse_metadata(packed.read(MANIFEST), Manifest, FORMAT, name=f"{path}: {MANIFEST}")
    except MetadataError as error:
        raise PackError(str(error)) from None
    if any(manifest.files[name].bytes != infos[name].file_size for name in PARTS):
        raise PackError(f"{path}: {MANIFEST} does not match the parts of the file; {FORMAT.remedy}")
    return manifest.files


def _copy(path: Path, packed: zipfile.ZipFile, name: str, fact: FileFacts, target: Path) -> None:
    """One part, its digest checked while it is copied."""
    with placed(target), packed.open(name) as source, target.open("wb") as sink:
        digest = copy_with_digest(source, sink)
    if digest != fact.sha256:
        raise PackError(f"{path}: {name} is not what it was when the model was packed; copy the file again")
