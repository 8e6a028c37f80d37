"""An untrained model from the settings of a run."""

from __future__ import annotations

from induce.models.base import Model
from induce.registry import TASKS, load
from induce.settings.run import RunConfig, kind_of, model_settings


def make_model(config: RunConfig, vocabulary_size: int) -> Model:
    """The untrained model of a run over ``vocabulary_size`` words; with a classifier around it where it is an encoder.

    Raises SynparseError where its settings are unknown, of another type or do not fit together.
    """
    kind = kind_of(config)
    model = kind(model_settings(kind.Config, config.model, config.model_name), vocabulary_size)
    if not isinstance(model, Model):
        model = load(TASKS[config.task_name].classifier)(config, model)
    model.seed = config.train.seed
    built: Model = model
    return built
