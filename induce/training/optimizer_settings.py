"""Settings of the optimizers, without torch, so that the settings of a checkpoint can be read without it."""

from __future__ import annotations

from dataclasses import dataclass

from induce.setting import count, limited


@dataclass(frozen=True, kw_only=True)
class GradientSettings:
    """Settings of all optimizers."""

    learning_rate: float = limited(0.002, 1e-9, 1e6, "step size of the optimizer")
    weight_decay: float = limited(0.0, 0, 1e3, "L2 penalty on all weights")
    clip: float = limited(0.25, 1e-9, 1e9, "limit of the global gradient norm")


@dataclass(frozen=True, kw_only=True)
class SgdSettings(GradientSettings):
    """SGD whose learning rate falls when the development loss stops falling."""

    decay: float = limited(0.5, 1e-3, 1, "factor on the learning rate when the development loss stops falling")
    patience: int = count(1, "checks without progress before the learning rate falls")
    decays: int = count(4, "decays of the learning rate after which training ends")


@dataclass(frozen=True, kw_only=True)
class AdamSettings(SgdSettings):
    """Adam whose learning rate falls when the development loss stops falling."""

    beta1: float = limited(0.9, 0, 0.9999, "decay rate of the mean of the gradients")
    epsilon: float = limited(1e-8, 1e-30, 1, "constant in the denominator of the update")


@dataclass(frozen=True, kw_only=True)
class NtAsgdSettings(GradientSettings):
    """SGD that switches to averaging (Merity et al. 2017)."""

    nonmonotone: int = count(5, "checks to look back over before the switch to averaging")
    restart_epoch: int = limited(500, -1, 1e9, "epoch at which averaging restarts")


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """Empty settings for models that learn without gradients and have no optimizer."""
