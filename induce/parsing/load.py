"""A parser from a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from induce import registry
from induce.parsing.ensemble import Ensemble, load_ensemble
from induce.parsing.parser import ModelParser
from induce.storage.checkpoint import ENSEMBLE, Checkpoint, find, read
from treebank.base.errors import SynparseError


def load_parser(
    run: str | os.PathLike[str],
    *,
    device: str = "auto",
    decoder: str | None = None,
    layer: int | None = None,
    distances: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> ModelParser | Ensemble:
    """The parser of the model in ``run`` (its best checkpoint), with the model's own decoder and layer by default.

    ``distances`` names one of the two sets of a model that learned from trees, ``lm`` or ``syd``. An ensemble is a
    parser, too; its members have their layers and distances named, and ``tell`` hears of sentences for which one has no
    vote.
    """
    if decoder is not None:
        registry.decoder_entry(decoder)
    if (Path(run) / ENSEMBLE).exists():
        if layer is not None or distances is not None:
            raise SynparseError(f"{run}: an ensemble has no layers or distances; its members have: RUN@layer=2")
        ensemble = load_ensemble(Path(run), partial(load_parser, device=device), decoder=decoder)
        ensemble.tell = tell or ensemble.tell
        return ensemble
    return load_model_parser(run, device=device, decoder=decoder, layer=layer, distances=distances)


def load_model_parser(run: str | os.PathLike[str], *, device: str = "auto", **options: Any) -> ModelParser:
    """The parser of a trained model, for those who need the model itself. Raises SynparseError for an ensemble."""
    checkpoint = read_trained(run)
    task = checkpoint.config.data.task
    kind: type[ModelParser] = registry.load(registry.TASKS[task].parser) if task else ModelParser
    return kind(checkpoint, device=choose_device(device), **options)


def read_trained(run: str | os.PathLike[str]) -> Checkpoint:
    """The best checkpoint in ``run``. Raises SynparseError if nothing has been learned yet."""
    checkpoint = read(find(Path(run)))
    if checkpoint.facts.get("step") == 0:
        raise SynparseError(f"{run}: this model has not been trained yet; go on with: synparse train --resume -o {run}")
    return checkpoint


def choose_device(device: str) -> str:
    """``cpu`` or ``cuda``; ``auto`` takes the GPU where there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda"):
        raise SynparseError(f"there is no device {device!r}; use auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise SynparseError("device cuda: torch finds no GPU here; use --device cpu")
    return device
