"""A model in one safetensors file: settings, facts and vocabulary in the header, the weights after it.

The header is JSON. Its ``__metadata__`` has two texts: ``synparse`` is a JSON object with the settings, the facts, the
digests of all parts and a digest of itself; ``vocabulary`` has one word per line. The state of a trainer is stored as
further tensors after the weights, whose names begin with ``trainer/``. Both parts are verified as the safetensors file
that they would be alone, so the same weights have the same digest in every file. No code in a file is ever executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.base.metadata import (
    FileFormat,
    MetadataError,
    format_error,
    json_text,
    one_line,
    open_regular,
    parse_sealed,
    seal,
)

MODEL, RESUME = "model.safetensors", "resume.safetensors"  # in the folder of a training run
DAMAGED = "the file is damaged; copy the model again, or train it again"
FORMAT = FileFormat(3, "a model of synparse", "name the file or the folder of a model, or copy the model again")
TRAINER = "trainer/"  # prefix of the tensors of a trainer
LENGTH_BYTES = 8  # of the number at the start of a file, the size of the header
MAX_HEADER_BYTES = 1 << 26
MODEL_KEY, ENSEMBLE_KEY = "synparse", "ensemble"  # the first text in the metadata of a model and of an ensemble
MAX_TRAINER_BYTES = 16, 1 << 26  # times the bytes of the weights, and bytes in addition
Table = dict[str, dict[str, Any]]  # name of a tensor -> dtype, shape and data_offsets


def model_parts(
    content: Mapping[str, Any], words: str, weights: bytes, trainer: bytes = b"", state: Any = None
) -> list[bytes | memoryview]:
    """The parts of the file of a model with ``content`` in its header and the vocabulary ``words``, one per line.

    They are not joined, because a copy of a large model would take much memory. ``weights`` and the tensors of the
    ``trainer`` are safetensors files; ``state`` is the rest of the trainer as JSON values. Raises SynparseError if the
    vocabulary is too large.
    """
    table, data = _split(weights)
    parts: list[bytes | memoryview] = [data]
    described: dict[str, Any] = {"vocabulary": digest_bytes(_encoded(words)), "weights": digest_bytes(weights)}
    if trainer:
        more, tensors = _split(trainer)
        table |= {TRAINER + name: _moved(entry, len(data)) for name, entry in more.items()}
        parts.append(tensors)
        described["trainer"] = {"sha256": digest_bytes(trainer), "state": state}
    text = json_text(seal({"format": FORMAT.number, "synparse": VERSION, **content, **described}), compact=True)
    header = padded_header({"__metadata__": {MODEL_KEY: text, "vocabulary": words}, **table})
    if len(header) > MAX_HEADER_BYTES:
        raise SynparseError(f"the vocabulary takes more than {MAX_HEADER_BYTES:,} bytes; raise data.minimum_count")
    return [header, *parts]


def file_key(path: Path) -> str:
    """The key that tells what the regular file ``path`` is, or "" for a file of another program.

    Reads no more than its first bytes.
    """
    starts = {key: f'{{"__metadata__":{{"{key}":'.encode() for key in (MODEL_KEY, ENSEMBLE_KEY)}
    with path.open("rb") as stream:
        start = stream.read(LENGTH_BYTES + max(map(len, starts.values())))[LENGTH_BYTES:]
    return next((key for key, bytes_ in starts.items() if start.startswith(bytes_)), "")


def read_header(stream: BinaryIO, *keys: str) -> tuple[list[str], Table, int]:
    """The texts ``keys`` in the metadata of an open safetensors file, its table, and the position of its data.

    Raises ValueError if the file is damaged or something else. The tensors follow one another, those of a trainer last,
    and fill the file.
    """
    size = os.fstat(stream.fileno()).st_size
    length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
    if not 0 < length <= min(MAX_HEADER_BYTES, size - LENGTH_BYTES):
        raise ValueError("its first bytes are not those of a safetensors file")
    try:
        table = json.loads(stream.read(length))
        metadata = table.pop("__metadata__")
        texts = [metadata[key] for key in keys]
        end, in_trainer = 0, False
        for name, entry in table.items():
            first, last = entry["data_offsets"]
            if type(first) is not int or type(last) is not int or first != end or last < first:
                raise ValueError(f"its tensors do not follow one another at {one_line(repr(name))}")
            if in_trainer and not name.startswith(TRAINER):
                raise ValueError("its weights come after the state of the trainer")
            end, in_trainer = last, name.startswith(TRAINER)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"its header is damaged: {type(error).__name__}: {error}") from None
    if end != size - LENGTH_BYTES - length:
        raise ValueError(f"it has {size - LENGTH_BYTES - length:,} bytes of tensors instead of {end:,}")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its metadata are not texts")
    return texts, table, LENGTH_BYTES + length


@dataclass
class ModelFile:
    """An open file of a model with its header. A training run may replace the file in the meantime.

    In another process, after pickling, the file is opened again by its path; digests detect a different one.
    """

    path: Path
    content: dict[str, Any]  # of the header
    words: str  # the vocabulary, one word per line
    table: Table = field(repr=False)
    start: int  # of the data
    stream: BinaryIO | None = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> ModelFile:
        """The file ``path``, its header verified. Raises MetadataError if it is damaged or not the file of a model."""
        stream = open_regular(path)
        try:
            (text, words), table, start = read_header(stream, MODEL_KEY, "vocabulary")
            content = parse_sealed(text, FORMAT, str(path))
            if digest_bytes(_encoded(words)) != content.pop("vocabulary", None):
                raise ValueError("its vocabulary does not match the digest")
            if not isinstance(content.get("weights"), str):
                raise ValueError("it has no digest of the weights")
        except ValueError as error:
            stream.close()
            raise format_error(path, FORMAT, error) from None
        except BaseException:
            stream.close()
            raise
        return cls(path, content, words, table, start, stream)

    def weights(self) -> bytes:
        """The weights as a safetensors file of their own. Raises MetadataError if they are damaged."""
        table = {name: entry for name, entry in self.table.items() if not name.startswith(TRAINER)}
        return self._part(table, 0, self.content["weights"])

    def trainer(self) -> tuple[bytes, Any]:
        """The tensors of the trainer as a safetensors file, and the rest of its state as JSON values.

        Raises MetadataError if they are missing or damaged.
        """
        trainer = self.content.get("trainer")
        if not isinstance(trainer, dict):
            raise MetadataError(f"{self.path}: no state of a trainer, so this run cannot be resumed; train again")
        table = {name: entry for name, entry in self.table.items() if name.startswith(TRAINER)}
        start, end = _size({name: entry for name, entry in self.table.items() if name not in table}), _size(self.table)
        factor, spare = MAX_TRAINER_BYTES
        if end - start > factor * start + spare:
            raise MetadataError(f"{self.path}: the state of the trainer is out of proportion to the weights; {DAMAGED}")
        table = {name.removeprefix(TRAINER): _moved(entry, -start) for name, entry in table.items()}
        return self._part(table, start, trainer.get("sha256")), trainer.get("state")

    def _part(self, table: Table, start: int, sha256: Any) -> bytes:
        """The tensors of ``table``, whose data begin at ``start``, as a safetensors file with this digest."""
        if self.stream is None:
            self.stream = open_regular(self.path)
        header = padded_header(table)
        try:
            self.stream.seek(self.start + start)
            data = self.stream.read(_size(table))
            part = header + data
        except MemoryError:
            raise MetadataError(f"{self.path}: too large for the memory of this machine") from None
        if digest_bytes(part) != sha256:
            raise MetadataError(f"{self.path}: differs from the saved file (its sha256 is another one); {DAMAGED}")
        return part

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "stream": None}


def _split(plain: bytes) -> tuple[Table, memoryview]:
    """The table and the data of a safetensors file, which are not copied."""
    start = LENGTH_BYTES + int.from_bytes(plain[:LENGTH_BYTES], "little")
    return json.loads(plain[LENGTH_BYTES:start]), memoryview(plain)[start:]


def _moved(entry: dict[str, Any], offset: int) -> dict[str, Any]:
    """The entry of a tensor in another file, where its data are ``offset`` bytes further."""
    return {**entry, "data_offsets": [position + offset for position in entry["data_offsets"]]}


def padded_header(header: Mapping[str, Any]) -> bytes:
    """The start of a file as the safetensors library writes it, so that digests of parts do not depend on the file."""
    text = json_text(header, compact=True).encode("utf-8")
    text += b" " * (-len(text) % LENGTH_BYTES)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _encoded(words: str) -> bytes:
    return words.encode("utf-8", "surrogatepass")


def _size(table: Table) -> int:
    """Number of bytes of the tensors in ``table``."""
    return sum(end - start for start, end in (entry["data_offsets"] for entry in table.values()))
