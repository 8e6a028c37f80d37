"""Settings of the optimizers, without torch, so that the settings of a checkpoint can be read without it."""

from __future__ import annotations

from dataclasses import dataclass

from induce.setting import count, setting


@dataclass(frozen=True, kw_only=True)
class GradientSettings:
    """Settings of all optimizers."""

    learning_rate: float = setting(0.002, at_least=1e-9, at_most=1e6, help="step size of the optimizer")
    weight_decay: float = setting(0.0, at_least=0, at_most=1e3, help="L2 penalty on all weights")
    clip: float = setting(0.25, at_least=1e-9, at_most=1e9, help="limit of the global gradient norm")


@dataclass(frozen=True, kw_only=True)
class SgdSettings(GradientSettings):
    """SGD whose learning rate falls when the development loss stops falling."""

    decay: float = setting(
        0.5, at_least=1e-3, at_most=1, help="factor on the learning rate when the development loss stops falling"
    )
    patience: int = count(1, "checks without progress before the learning rate falls")
    decays: int = count(4, "decays of the learning rate after which training ends")


@dataclass(frozen=True, kw_only=True)
class AdamSettings(SgdSettings):
    """Adam whose learning rate falls when the development loss stops falling."""

    beta1: float = setting(0.9, at_least=0, at_most=0.9999, help="decay rate of the mean of the gradients")
    epsilon: float = setting(1e-8, at_least=1e-30, at_most=1, help="constant in the denominator of the update")


@dataclass(frozen=True, kw_only=True)
class NtAsgdSettings(GradientSettings):
    """SGD that switches to averaging (Merity et al. 2017)."""

    nonmonotone: int = count(5, "checks to look back over before the switch to averaging")
    restart_epoch: int = setting(500, at_least=-1, at_most=1e9, help="epoch at which averaging restarts")


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """A model that learns without gradients has no optimizer."""
