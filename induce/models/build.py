"""Construction of untrained models from the settings of a training run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from induce.models.base import Model
from induce.registry import TASKS, load
from induce.settings.run import RunConfig, kind_of, model_settings

if TYPE_CHECKING:
    from torch import Tensor, nn


MIN_SETTING_LIMIT = 1 << 22  # for whole numbers in the settings, however small the file
SPARE_NUMBERS = 1 << 24  # allocated by a model beyond those of its weights: tables that are not stored
NUMBERS_PER_WEIGHT = 8
SPARE_TENSORS, TENSORS_PER_WEIGHT = 1000, 20


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


def build_with(make: Callable[[], nn.Module], settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> nn.Module:
    """The model that ``make`` builds from ``settings``, with ``tensors`` as its weights.

    Weights of half precision become single. Raises ValueError or RuntimeError if settings and weights do not fit
    together; a model that is out of proportion to its weights is refused before it takes memory.
    """
    count = sum(value.numel() for value in tensors.values())
    for name, value in settings.items():
        if isinstance(value, int) and value > max(count, MIN_SETTING_LIMIT):
            raise ValueError(f"{name} = {value} is out of proportion to the weights")
    with _AllocationLimit(
        count * NUMBERS_PER_WEIGHT + SPARE_NUMBERS, len(tensors) * TENSORS_PER_WEIGHT + SPARE_TENSORS
    ):
        model = make()
    for name, value in model.state_dict().items():
        stored = tensors[name].dtype if name in tensors else value.dtype
        if stored != value.dtype and (stored, value.dtype) != (torch.float16, torch.float32):
            raise ValueError(f"{name}: the settings ask for {value.dtype}, and the file has {stored}")
    model.load_state_dict(dict(tensors), strict=True)
    return model


class _AllocationLimit(TorchDispatchMode):
    """Within the block, raises ValueError before new tensors exceed a limit of numbers or of tensors in total."""

    def __init__(self, numbers: int, tensors: int) -> None:
        super().__init__()
        self.numbers, self.tensors = numbers, tensors

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch loads its compiler, which takes seconds

    def __torch_dispatch__(
        self, operation: Callable[..., Any], types: Any, arguments: tuple[Any, ...] = (), options: Any = None
    ) -> Any:
        first = arguments[0] if arguments else None
        if isinstance(first, (list, tuple)) and all(isinstance(size, int) for size in first):  # a size: a new tensor
            self.numbers -= prod(first)
            self.tensors -= 1
            if min(self.numbers, self.tensors) < 0:
                raise ValueError("the settings ask for a model that is out of proportion to the weights")
        return operation(*arguments, **(options or {}))
