"""Publishing of a model as one file, as it was saved or in half precision."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from induce.storage.checkpoint import Checkpoint, find, read, save, sealed
from induce.storage.facts import DAMAGED, FORMAT
from induce.storage.folders import FACTS_FILE, VOCABULARY, WEIGHTS
from induce.storage.packed import pack
from treebank.base.errors import SynparseError
from treebank.base.metadata import read_sealed


def publish(run: Path, target: str, *, half: bool = False) -> str:
    """Write the best checkpoint of ``run`` to the file ``target`` and return the file's SHA-256.

    With ``half`` the numbers are stored in half precision, in about half the size. Raises SynparseError if one of them
    is too large for that.
    """
    folder = find(run)
    if not half:
        return pack(folder, target)
    with TemporaryDirectory() as temporary:
        save(Path(temporary) / "half", half_precision(read(folder)))
        return pack(Path(temporary) / "half", target)


def half_precision(checkpoint: Checkpoint) -> dict[str, bytes]:
    """The files of a checkpoint, with half precision instead of single precision."""
    from safetensors.torch import save as to_bytes

    from induce.storage.weights import halved

    folder = checkpoint.folder
    content = read_sealed(folder / FACTS_FILE, format_number=FORMAT, title="a checkpoint", remedy=DAMAGED)
    try:
        weights = to_bytes(halved(checkpoint.weights()))
    except ValueError as error:
        raise SynparseError(f"{folder}: {error}; pack the model as it is") from None
    return sealed(content, {VOCABULARY: (folder / VOCABULARY).read_bytes(), WEIGHTS: weights})
