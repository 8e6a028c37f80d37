"""Content of the files of models, and changed copies with matching digests, as an attacker could make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from induce.storage.checkpoint import join_tensors, split_tensors
from induce.storage.model_file import MODEL, RESUME, ModelFile, model_parts

__all__ = ["MODEL", "RESUME", "content_of", "rewrite", "weights_of"]


def content_of(path: Path) -> dict[str, Any]:
    """The JSON object in the header of a model: settings, facts and digests."""
    return ModelFile.open(path).content


def weights_of(path: Path) -> bytes:
    """The weights in the file of a model."""
    return ModelFile.open(path).weights()


def rewrite(
    path: Path,
    *,
    content: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
    words: str | None = None,
    weights: Callable[[dict[str, Tensor]], dict[str, Tensor]] | None = None,
    state: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Change parts of the file of a model. Functions receive a part, and return the new one or change it in place."""
    file = ModelFile.open(path)
    described = {name: value for name, value in file.content.items() if name not in ("weights", "trainer")}
    if content:
        described = content(described) or described
    tensors, trainer, values = file.weights(), b"", None
    if "trainer" in file.content:
        trainer, values = file.trainer()
        if state:
            values, more = split_tensors(state(join_tensors(values, load(trainer))))
            trainer = save(more)
    if weights:
        tensors = save(weights(load(tensors)))
    path.write_bytes(b"".join(model_parts(described, file.words if words is None else words, tensors, trainer, values)))
