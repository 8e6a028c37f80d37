"""checkpoint.json and the files it vouches for: read strictly, and told apart from what was saved if damaged."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treebank.base.errors import SynparseError
from treebank.base.json_text import finite, json_text
from treebank.base.version import VERSION

FORMAT = 2
NOT_WHOLE = "this folder holds no whole model"
DAMAGED = "the file is damaged; copy the model again, or train anew"
FACTS_FILE, VOCABULARY, WEIGHTS, TRAINER = "checkpoint.json", "vocabulary.txt", "weights.safetensors", "trainer.pt"
LARGEST = {FACTS_FILE: 1 << 26, VOCABULARY: 1 << 28}  # bytes
LARGEST_TRAINER = 16, 1 << 26  # times the weights, and bytes beside

_SIZE = {"sentences": int, "words": int}
_NUMBER = (float, type(None))  # what is infinite is null in JSON
#: what checkpoint.json may say beside the settings -> its type ({key: type} for an object, [type] for a list)
FACTS: dict[str, Any] = {
    "synparse": str,
    "texts": [str],
    "development_texts": [str],
    "tokenize": bool,  # of runs before rules had names
    "paragraphs": bool,
    "form": str,
    "encoding": str,
    "trees": {
        "name": str,
        "note": str,
        "kind": str,
        "sentences": int,
    },  # of the treebank that a model also learned from
    "training": {**_SIZE, "sha256": str},
    "development": _SIZE,
    "epoch": int,
    "step": int,
    "seconds": float,
    "device": str,
    "threads": int,
    "edges": {"first": float, "last": float, "sentences": int},  # of the text, where they choose the decoder
    "matrix_library": str,  # library that multiplied matrices
    "history": [{"epoch": int, "step": int, "development_perplexity": _NUMBER, "best": bool}],
}


class CheckpointError(SynparseError):
    """A model folder that is missing, damaged or of another kind."""


def gist(error: Exception) -> str:
    """What ``error`` says, in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + " …"


def describe(data: bytes) -> dict[str, Any]:
    """Size and digest of a file's content, as checkpoint.json has them."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def seal(content: Mapping[str, Any]) -> bytes:
    """checkpoint.json with ``content`` and the digest of it, which goes by the values and not by how they are spelt."""
    plain = finite({key: value for key, value in content.items() if key != "sha256"})
    sealed = {**plain, "sha256": _digest(plain)}
    return (json_text(sealed, indent=1) + "\n").encode("utf-8")


def _digest(content: Mapping[str, Any]) -> str:
    """Of all values but the digest itself."""
    plain = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def regular_size(path: Path) -> int:
    """The size of a file. Raises CheckpointError if it is missing, or no file but a device, say."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; {NOT_WHOLE}") from None
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(f"{path}: this is no file; {NOT_WHOLE}")
    return status.st_size


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a file of at most ``most``."""
    size = regular_size(path)
    if size > most:
        raise CheckpointError(f"{path}: {size} bytes are more than such a file can have ({most}); {DAMAGED}")
    with path.open("rb") as stream:
        return stream.read(size)


def check_size(path: Path, size: int, said: Mapping[str, Any]) -> None:
    if size != said["bytes"]:
        raise CheckpointError(f"{path}: holds {size} bytes, {said['bytes']} were saved; {DAMAGED}")


def check_digest(path: Path, data: bytes, said: Mapping[str, Any]) -> None:
    """Raises CheckpointError if ``data`` is not what was saved."""
    check_size(path, len(data), said)
    if hashlib.sha256(data).hexdigest() != said["sha256"]:
        raise CheckpointError(f"{path}: is not what was saved (another sha256 than in {FACTS_FILE}); {DAMAGED}")


def read_facts(path: Path) -> dict[str, Any]:
    """The object in checkpoint.json, its format number, digest and the types of its facts checked."""
    data = read_file(path, LARGEST[FACTS_FILE])
    try:
        content = json.loads(data, parse_constant=_no_constant)
        if not isinstance(content, dict):
            raise ValueError("not an object")
        digest = _digest(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not valid JSON ({gist(error)}); {DAMAGED}") from None
    if content.get("format") != FORMAT:
        raise CheckpointError(_other_format(path, content))
    if content.get("sha256") != digest:
        raise CheckpointError(f"{path}: is not what was saved (its sha256 is another); {DAMAGED}")
    for name, shape in FACTS.items():
        if name in content and not _fits(content[name], shape):
            raise CheckpointError(f"{path}: {name!r} cannot be {shown(content[name])}; {DAMAGED}")
    files = content.get("files")
    if not isinstance(files, dict) or not all(_fits(one, {"bytes": int, "sha256": str}) for one in files.values()):
        raise CheckpointError(f"{path}: 'files' cannot be {shown(files)}; {DAMAGED}")
    if not {VOCABULARY, WEIGHTS} <= files.keys():
        raise CheckpointError(f"{path}: 'files' names no {VOCABULARY} or no {WEIGHTS}; {DAMAGED}")
    return content


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _other_format(path: Path, content: Mapping[str, Any]) -> str:
    """What to say of a folder in another format."""
    number = content.get("format")
    writer = shown(content.get("synparse", "(unknown)")).strip("'\"")
    if type(number) is int and 0 < number < FORMAT:
        return (
            f"{path}: format {number} of an older synparse ({writer}) has no digests and is no longer read; "
            "train the model anew"
        )
    return (
        f"{path}: format {shown(number)} is unknown to synparse {VERSION}, which reads format {FORMAT}; "
        f"it was written by synparse {writer}"
    )


def _fits(value: Any, shape: Any) -> bool:
    """Whether ``value`` is of a type as ``FACTS`` describes it; an int may stand for a float."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and _fits(value[key], part) for key, part in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(part, shape[0]) for part in value)
    if isinstance(shape, tuple):
        return any(_fits(value, part) for part in shape)
    return type(value) is shape or (shape is float and type(value) is int)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
