"""Proximal policy optimization over calls of options, with stable-baselines3 (thesis, algorithm 4).

This module, and no other, needs the package stable-baselines3 (``pip install synparse[skills]``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor, nn

from induce.tasks.craft.baselines import OrderedMemoryPolicy
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.option_calls import Called, Calls, LearningOptions
from induce.tasks.craft.world import FEATURES, LIMIT

DISCOUNT = 0.99  # per call; the thesis does not state these values
EPOCHS = 4  # passes over the calls of an iteration
ENTROPY = 0.01  # weight of the entropy of the controller


class CalledWorlds(VecEnv):
    """The worlds of ``calls`` as an environment of stable-baselines3, in which a new episode replaces one that ends.

    An episode that reaches its time limit ends without a bootstrapped value, like one that is solved.
    """

    render_mode = None

    def __init__(self, calls: Calls) -> None:
        self.calls, self.results = calls, list[Called]()
        self.chosen = np.zeros(0, np.int64)
        super().__init__(
            len(calls.episodes.worlds), Box(0.0, float(LIMIT), (FEATURES,), np.float32), Discrete(len(calls.options))
        )

    def reset(self) -> np.ndarray:
        """Start new episodes and return their observations."""
        self.calls.episodes.restart(np.arange(self.num_envs))
        return self.calls.observe()

    def step_async(self, actions: np.ndarray) -> None:
        """Choose an option (N,) in each world."""
        self.chosen = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Call the chosen options."""
        called = self.calls.step(self.chosen)
        self.results.append(called)
        return self.calls.observe(), called.reward, called.over, [{} for _ in range(self.num_envs)]

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, repeated for each of the worlds ``indices``."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def _not_called(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError  # a `VecEnv` has these methods, and PPO does not call them

    set_attr = env_method = env_is_wrapped = _not_called


class ControllerLearner:
    """PPO with a memoryless policy: an MLP of two tanh layers, and another of the same size for the value."""

    def __init__(
        self,
        worlds: CalledWorlds,
        *,
        width: int,
        rate: float,
        batch: int,
        clip: float,
        seed: int,
        unfrozen: bool = False,
    ) -> None:
        """With ``unfrozen`` the options are trained, too."""
        self.worlds = worlds
        self.rate_share = 1.0  # share of the learning rate
        self.ppo = PPO(
            "MlpPolicy",
            worlds,
            learning_rate=lambda _: rate * self.rate_share,
            n_steps=max(2, 4 * batch // worlds.num_envs),
            batch_size=batch,
            n_epochs=EPOCHS,
            gamma=DISCOUNT,
            ent_coef=ENTROPY,
            max_grad_norm=clip,
            policy_kwargs={"net_arch": [width, width], "activation_fn": nn.Tanh},
            seed=seed,
            device="cpu",
        )
        self.ppo.set_logger(Logger(None, []))  # the default logger creates a folder in /tmp for each call of learn
        self.options: LearningOptions | None = None
        if unfrozen:
            self.options = LearningOptions(worlds.calls, rate=rate, batch=max(1, batch // 4), clip=clip, seed=seed)

    def iterate(self, rate_share: float) -> Sequence[Called]:
        """Collect calls, learn from them with ``rate_share`` of the learning rate, and return their results."""
        self.rate_share = rate_share
        self.worlds.results.clear()
        calls = self.ppo.n_steps * self.worlds.num_envs
        self.ppo.learn(calls, reset_num_timesteps=False, log_interval=10**9)
        if self.options is not None:
            flat = self.ppo.rollout_buffer.advantages.reshape(self.worlds.num_envs, -1)  # by world after training
            self.options.learn(self.worlds.results, flat.T, rate_share)
        return self.worlds.results

    def state(self) -> dict[str, Any]:
        """State to resume from, except random numbers and worlds."""
        options = {} if self.options is None else {"options": self.options.updates.state_dict()}
        return {"policy": self.ppo.policy.state_dict(), "updates": self.ppo.policy.optimizer.state_dict(), **options}

    def load_state(self, state: dict[str, Any]) -> None:
        """Resume from a `state`."""
        self.ppo.policy.load_state_dict(state["policy"])
        self.ppo.policy.optimizer.load_state_dict(state["updates"])
        if self.options is not None:
            self.options.updates.load_state_dict(state["options"])

    @torch.no_grad()
    def export(self, model: OptionController | OrderedMemoryPolicy) -> None:
        """Copy the learned controller, which has no memory, and the options into ``model``."""
        if self.options is not None:
            self.options.export(model)
        if isinstance(model, OrderedMemoryPolicy):
            return  # there is nothing to choose
        controller, weights = model.controller, self.ppo.policy.state_dict()
        for parameter in (*controller.parameters(), model.first_controller_state):
            parameter.zero_()
        for number, (weight, bias) in enumerate(
            ((controller.observed, controller.observed_bias), (controller.inner, controller.inner_bias))
        ):
            weight[0] = weights[f"mlp_extractor.policy_net.{2 * number}.weight"].t()
            bias[0, 0] = weights[f"mlp_extractor.policy_net.{2 * number}.bias"]
        scores: tuple[Tensor, Tensor] = weights["action_net.weight"], weights["action_net.bias"]
        count = len(scores[1])
        controller.outer[0, :, :count] = scores[0].t() * model.config.temperature
        controller.outer_bias[0, 0, :count] = scores[1] * model.config.temperature
