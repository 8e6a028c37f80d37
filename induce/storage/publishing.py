"""A model as one file for others: as it was saved, or with its numbers in half precision."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from induce.storage.checkpoint import Checkpoint, find, read, save
from induce.storage.facts import FACTS_FILE, LARGEST, VOCABULARY, WEIGHTS, describe, read_facts, read_file, seal
from induce.storage.packed import pack
from induce.storage.weights import halved
from treebank.base.errors import SynparseError


def publish(run: Path, target: str, *, half: bool = False) -> str:
    """Write the best checkpoint of ``run`` to the file ``target``; what comes back is the file's SHA-256.

    With ``half`` numbers are stored in half precision: about half the size. Raises SynparseError where one is too
    large for that.
    """
    folder = find(run)
    if not half:
        return pack(folder, target)
    with TemporaryDirectory() as place:
        save(Path(place) / "half", half_precision(read(folder)))
        return pack(Path(place) / "half", target)


def half_precision(checkpoint: Checkpoint) -> dict[str, bytes]:
    """The files of a checkpoint, those of its numbers that are of single precision in half."""
    from safetensors.torch import save as to_bytes

    folder = checkpoint.folder
    content = read_facts(folder / FACTS_FILE)
    try:
        weights = to_bytes(halved(checkpoint.weights()))
    except ValueError as error:
        raise SynparseError(f"{folder}: {error}; pack the model as it is") from None
    packed = {VOCABULARY: read_file(folder / VOCABULARY, LARGEST[VOCABULARY]), WEIGHTS: weights}
    return {**packed, FACTS_FILE: seal({**content, "files": {name: describe(data) for name, data in packed.items()}})}
