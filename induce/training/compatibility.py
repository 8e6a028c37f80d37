"""Checks of settings and training text before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from induce.data.tokens import TOKENS
from induce.decoding.specification import fitting_decoder
from induce.registry import check_loader
from induce.settings.run import RunConfig, entry_of, kind_of, model_settings
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.data.training_data import TrainingData

MIN_WORDS = 20  # of training text


def check_fits(config: RunConfig) -> None:
    """Raises SynparseError if settings, model, reading and decoder do not fit together. Reads no text."""
    from induce.models.base import FittedModel

    kind = kind_of(config)
    model_settings(kind.Config, config.model, config.model_name)
    check_loader(config.model_name, kind.reads, config.loader_name)
    by_gradients = not issubclass(kind, FittedModel)
    if by_gradients == (config.optimizer_name == "none"):
        need = "an optimizer" if by_gradients else "optimizer.name=none"
        raise SynparseError(f"optimizer.name={config.optimizer_name}: model {config.model_name!r} needs {need}")
    if config.train.precision != "float32" and not getattr(kind, "rounds", False):
        raise SynparseError(f"model {config.model_name!r} learns in float32 only; leave out train.precision")
    config.task.check_run(config)
    if kind.gives:
        fitting_decoder(config.model_name, kind.gives, config.parse.decoder)


def check_enough(config: RunConfig, training: TrainingData, texts: Iterable[str]) -> None:
    """Raises SynparseError if there is too little text, or if trees are missing or cannot be learned from."""
    if training.words < MIN_WORDS:
        where = " ".join(texts) or "the training text"
        size = f"{training.words} {config.data.token if training.words == 1 else TOKENS[config.data.token]}"
        raise SynparseError(
            f"{where}: {size} to learn from after normalization "
            f"{config.data.normalization!r}; at least {MIN_WORDS} are needed, and about 100,000 for useful trees"
        )
    if training.has_trees != entry_of(config).learns_trees:
        problem = "learns no trees" if training.has_trees else "learns from trees, and the training text has none"
        raise SynparseError(f"model {config.model_name!r} {problem}")
