"""Construction of untrained models from the settings of a training run."""

from __future__ import annotations

from typing import Any

from induce.models.base import Model
from induce.registry import TASKS, load
from induce.settings.run import RunConfig, kind_of, model_settings


def class_of(config: RunConfig) -> Any:
    """Class of the model of a run: for an encoder, that of the model around it, which learns the task."""
    kind = kind_of(config)
    return kind if issubclass(kind, Model) else load(TASKS.get(config.task_name).classifier)


def make_model(config: RunConfig, vocabulary_size: int) -> Model:
    """Construct the untrained model of a training run for a vocabulary of ``vocabulary_size`` words.

    An encoder is wrapped in the classifier of its task. Raises SynparseError if a setting is unknown or of another
    type, or if the settings are inconsistent.
    """
    kind = kind_of(config)
    model = kind(model_settings(kind.Config, config.model, config.model_name), vocabulary_size)
    return model if isinstance(model, Model) else class_of(config).of_run(config, model)
