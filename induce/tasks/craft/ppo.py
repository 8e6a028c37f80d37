"""Proximal policy optimisation over calls of options, by stable-baselines3 (thesis, algorithm 4).

Importing this file needs the package stable-baselines3 (``pip install synparse[skills]``); nothing else here does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor, nn

from induce.tasks.craft.environment import spaces
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.option_calls import Called, Calls
from induce.tasks.craft.option_finetuning import LearningOptions

DISCOUNT = 0.99  # of a call; the thesis tells none of these
EPOCHS = 4  # times that each call is learned from
ENTROPY = 0.01  # weight of the entropy of the choice


class CalledWorlds(VecEnv):
    """The worlds of ``calls`` as stable-baselines3 wants them; an episode that ends is followed by the next one.

    One that runs out of time ends without a reward, like one that is done: no value is put in its place.
    """

    render_mode = None

    def __init__(self, calls: Calls) -> None:
        self.calls, self.brought = calls, list[Called]()
        self.chosen = np.zeros(0, np.int64)
        super().__init__(len(calls.episodes.worlds), spaces()[0], Discrete(len(calls.options)))

    def reset(self) -> np.ndarray:
        """What is seen in worlds that begin."""
        self.calls.episodes.restart(np.arange(self.num_envs))
        return self.calls.observe()

    def step_async(self, actions: np.ndarray) -> None:
        """Choose an option (N,) in each world."""
        self.chosen = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Call what was chosen."""
        called = self.calls.step(self.chosen)
        self.brought.append(called)
        return self.calls.observe(), called.reward, called.over, [{} for _ in range(self.num_envs)]

    def close(self) -> None:
        """There is nothing to give back."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same for each of the worlds asked for."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute, for all worlds."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """What a method gives, once for each of the worlds asked for."""
        return [getattr(self, method_name)(*args, **kwargs) for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False for _ in self._get_indices(indices)]


class Learner:
    """PPO whose policy is a cell without memory: an MLP of two layers with tanh, and as wide a one for the value."""

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
        """``unfrozen``: options learn, too."""
        self.worlds = worlds
        self.left = 1.0  # share of the learning rate
        self.ppo = PPO(
            "MlpPolicy",
            worlds,
            learning_rate=lambda _: rate * self.left,
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
        self.ppo.set_logger(Logger(None, []))  # its own makes a folder under /tmp for each call of learn
        self.options: LearningOptions | None = None
        if unfrozen:
            self.options = LearningOptions(worlds.calls, rate=rate, batch=max(1, batch // 4), clip=clip, seed=seed)

    def iterate(self, left: float) -> Sequence[Called]:
        """Collect calls, learn from them with the share ``left`` of the learning rate, and say what they brought."""
        self.left = left
        self.worlds.brought.clear()
        calls = self.ppo.n_steps * self.worlds.num_envs
        self.ppo.learn(calls, reset_num_timesteps=False, log_interval=10**9)
        if self.options is not None:
            flat = self.ppo.rollout_buffer.advantages.reshape(
                self.worlds.num_envs, -1
            )  # world by world, once it is used
            self.options.learn(self.worlds.brought, flat.T, left)
        return self.worlds.brought

    def state(self) -> dict[str, Any]:
        """What decides how it goes on, but for random numbers and the worlds."""
        options = {} if self.options is None else {"options": self.options.state()}
        return {"policy": self.ppo.policy.state_dict(), "updates": self.ppo.policy.optimizer.state_dict(), **options}

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.ppo.policy.load_state_dict(state["policy"])
        self.ppo.policy.optimizer.load_state_dict(state["updates"])
        if self.options is not None:
            self.options.take_up(state["options"])

    @torch.no_grad()
    def teach(self, model: OptionController) -> None:
        """Give ``model`` what was learned: its controller, which needs no memory, so that it has none, and options."""
        if self.options is not None:
            self.options.teach(model)
        controller, found = model.controller, self.ppo.policy.state_dict()
        for parameter in (*controller.parameters(), model.first_controller_state):
            parameter.zero_()
        for number, (weight, bias) in enumerate(
            ((controller.observed, controller.observed_bias), (controller.inner, controller.inner_bias))
        ):
            weight[0] = found[f"mlp_extractor.policy_net.{2 * number}.weight"].t()
            bias[0, 0] = found[f"mlp_extractor.policy_net.{2 * number}.bias"]
        scores: tuple[Tensor, Tensor] = found["action_net.weight"], found["action_net.bias"]
        count = len(scores[1])
        controller.outer[0, :, :count] = scores[0].t() * model.config.temperature
        controller.outer_bias[0, 0, :count] = scores[1] * model.config.temperature
