"""Transfer: learning of a bandit with known best choice, merged options, and a resumed run."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.settings.presets import load_preset
from induce.storage import checkpoint
from induce.storage.checkpoint import RunFacts, build_model, find, read
from induce.tasks.craft.baselines import Compile, CompileConfig, OrderedMemoryPolicy, OrderedMemoryPolicyConfig
from induce.tasks.craft.ocn import OptionController, OptionControllerConfig
from induce.tasks.craft.option_calls import as_option, with_one_task
from induce.tasks.craft.transfer import TransferRequest, join, prepare_transfer, single_actions
from induce.tasks.craft.world import ACTIONS, FEATURES
from treebank.base.errors import SynparseError, UsageError

WORDS = Vocabulary([BOUNDARY, UNKNOWN, *ACTIONS])


def policy(seed: int = 0, **sizes: Any) -> OptionController:
    torch.manual_seed(seed)
    config = OptionControllerConfig(**{"hidden_size": 3, "inner_size": 4, "options": 2, "tasks": 3, **sizes})
    return OptionController(config, len(WORDS))


class Bandit:
    """64 bandits whose light shows which of three arms is rewarded."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.options = [None] * 3
        self.episodes = SimpleNamespace(worlds=range(64), restart=lambda rows: None)
        self.light = self.rng.integers(3, size=64)

    def observe(self) -> np.ndarray:
        features = np.zeros((64, FEATURES), np.float32)
        features[np.arange(64), 100 + self.light] = 1
        return features

    def step(self, chosen: np.ndarray) -> Any:
        paid = chosen == self.light
        self.light = self.rng.integers(3, size=64)
        return SimpleNamespace(reward=paid.astype(np.float32), over=np.ones(64, bool))


def test_controller_learns_the_rewarded_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    from induce.tasks.craft.ppo import CalledWorlds, ControllerLearner

    bandit: Any = Bandit()
    learner = ControllerLearner(CalledWorlds(bandit), width=8, rate=0.05, batch=64, clip=0.5, seed=1)
    for _ in range(15):
        results = learner.iterate(1.0)
    assert not any(tmp_path.glob("SB3*"))  # stable-baselines3 would log there
    assert len(results) == 4
    assert np.mean([called.reward.mean() for called in results]) > 0.9  # a third at random
    model = policy(options=3, inner_size=8, tasks=1, temperature=10.0)
    learner.export(model)
    observations = torch.from_numpy(bandit.observe())
    choice, hidden = model.choose(
        model.controller.look(observations), model.start(torch.zeros(64, dtype=torch.long)).controller
    )
    learned = learner.ppo.policy.get_distribution(observations).distribution
    torch.testing.assert_close(choice, learned.probs.detach())
    assert (choice.argmax(-1).numpy() == bandit.light).mean() > 0.9
    assert not hidden.any()


def test_options_of_models_are_merged() -> None:
    first, second = policy(1), policy(2, tasks=1)
    both = join([first, second])
    assert (both.config.options, both.config.tasks) == (4, 1)
    torch.testing.assert_close(both.options.inner, torch.cat([first.options.inner, second.options.inner]))
    assert not any(parameter.requires_grad for parameter in both.parameters())
    with pytest.raises(SynparseError, match="cannot be joined"):
        join([first, policy(3, inner_size=5)])


def test_single_actions_are_options() -> None:
    model = single_actions(4)
    scores = model.options(model.options.look(torch.rand(2, FEATURES)), torch.zeros(5, 2, 1)).scores.softmax(-1)
    torch.testing.assert_close(scores, torch.eye(5)[:, None].expand(-1, 2, -1))


def saved(folder: Path, model: Any, name: str = "") -> Path:
    """``folder`` with an untrained model of the type ``name``."""
    preset = load_preset("craft-small", name) if name else load_preset("craft-small")
    config = replace(preset, model=asdict(model.config))
    checkpoint.save(folder / "resume.safetensors", checkpoint.pack(model, config, WORDS, RunFacts()))
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model folder of an untrained policy."""
    return saved(tmp_path_factory.mktemp("ocn") / "run", policy())


def request(run: Path, *runs: Path, **others: Any) -> TransferRequest:
    small = ("loader.batch_size=32", "train.epochs=2")
    return TransferRequest(**{"run": str(run), "runs": tuple(map(str, runs)), "settings": small, **others})


@pytest.mark.parametrize("unfrozen", [False, True])
def test_run_is_saved_and_resumed(trained: Path, tmp_path: Path, unfrozen: bool) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    run = tmp_path / "new"
    learning = prepare_transfer(request(run, trained, trained, sketch="A", reward="dense", unfrozen=unfrozen))
    stop = iter([False, True])
    events = list(learning.learn(stop=lambda: next(stop)))
    assert [event.epoch for event in events] == [1]
    before = read(find(run))
    assert before.config.model["options"] == 4
    assert before.config.purpose.sketches == "A"
    for others in ({"sketch": "DCA"}, {"reward": "sparse"}, {"seed": 9}):
        with pytest.raises(UsageError, match=f"--{next(iter(others))} cannot change on --resume: the run keeps"):
            prepare_transfer(request(run, resume=True, settings=(), **others))
    events += prepare_transfer(request(run, resume=True, settings=(), sketch="A", reward="dense", seed=1)).learn()
    assert [(event.epoch, event.calls) for event in events] == [(1, 128), (2, 256)]
    assert events[1].actions > events[1].calls
    logged = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["epoch"] for line in logged] == [1, 2]
    after = read(find(run))
    old, new = (build_model(checkpoint).state_dict() for checkpoint in (before, after))
    changed = {name.partition(".")[0] for name in old if not torch.equal(old[name], new[name])}
    assert changed == ({"controller", "options", "first_option_state"} if unfrozen else {"controller"})
    assert after.facts.step == 256


def test_weights_that_are_nan_are_reported_and_not_saved(trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    run = tmp_path / "new"
    learning = prepare_transfer(request(run, trained, sketch="A", unfrozen=True))
    stop = iter([False, True])
    list(learning.learn(stop=lambda: next(stop)))
    again = prepare_transfer(request(run, resume=True, settings=()))
    again.learner.options.parameters[0].data[:] = float("nan")
    with pytest.raises(SynparseError, match="the model is no longer a number at step 128; the previous checkpoint"):
        again.save()
    assert build_model(read(find(run)))  # as it was written before


def test_invalid_requests_are_refused(trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    for invalid, problem in (
        (request(tmp_path / "new", trained, settings=("model.options=3",)), "only \\[train\\]"),
        (request(tmp_path / "new", trained, sketch="AQ"), "not a task of Craft"),
        (request(tmp_path / "new", resume=True), "not a run that can be resumed"),
        (request(trained, resume=True, settings=()), "learns from demonstrations"),
        (request(trained, trained), "there is a model already"),
    ):
        with pytest.raises(SynparseError, match=problem):
            prepare_transfer(invalid)
    assert not (tmp_path / "new").exists()


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trained: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "stable_baselines3", None)
    with pytest.raises(SynparseError, match=r"pip install 'synparse\[skills\]'"):
        prepare_transfer(request(tmp_path / "new", trained))


@pytest.fixture(scope="module")
def ompn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model folder of an untrained policy without options."""
    torch.manual_seed(0)
    model = OrderedMemoryPolicy(OrderedMemoryPolicyConfig(slot_size=4), len(WORDS))
    return saved(tmp_path_factory.mktemp("ompn") / "run", model, "ompn")


def test_call_of_a_policy_without_options_is_an_episode(ompn: Path) -> None:
    """Its actions are those of the policy, step by step."""
    model: Any = with_one_task(build_model(read(find(ompn))))
    option = as_option(model)
    state, hidden = model.start(torch.zeros(3, dtype=torch.long)), option.first.expand(-1, 3, -1)
    for time, observations in enumerate(torch.rand(4, 3, FEATURES)):
        actions, _, state = model.act(observations, state, first=time == 0)
        output = option.cell(option.cell.look(observations), hidden)
        hidden = output.hidden
        torch.testing.assert_close(output.scores[0].softmax(-1), actions / actions.sum(-1, keepdim=True))
        assert not output.end.any()


def test_policy_without_options_is_trained_and_resumed(ompn: Path, trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    transfer = prepare_transfer(request(tmp_path / "new", ompn, settings=("loader.batch_size=16", "train.epochs=2")))
    events = transfer.learn()
    event = next(events)
    assert (event.calls, event.episodes) == (128, 128)
    transfer.save()
    events.close()
    stored = [build_model(read(find(tmp_path / "new"))).state_dict()]
    (event,) = prepare_transfer(request(tmp_path / "new", resume=True, settings=())).learn()
    assert (event.epoch, event.calls) == (2, 256)
    stored = [
        build_model(read(find(ompn))).state_dict(),
        *stored,
        build_model(read(find(tmp_path / "new"))).state_dict(),
    ]
    assert stored[2]["tasks.weight"].shape == (1, 4)
    for before, after in itertools.pairwise(stored):
        assert not torch.equal(before["actor.weight"], after["actor.weight"])
        assert not torch.equal(before["observed.weight"], after["observed.weight"])
    with pytest.raises(SynparseError, match="name one model"):
        prepare_transfer(request(tmp_path / "other", ompn, trained))


def test_types_of_compile_are_the_options_of_a_transfer(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    torch.manual_seed(0)
    model = Compile(CompileConfig(hidden_size=4, options=2), len(WORDS))
    saved(tmp_path / "old", model, "compile")
    transfer = prepare_transfer(request(tmp_path / "new", tmp_path / "old", tmp_path / "old", sketch="A"))
    (event, *_) = list(transfer.learn())
    after = build_model(read(find(tmp_path / "new")))
    assert (event.calls, after.config.options) == (128, 4)
    both = torch.cat([model.options_of_types().options.outer] * 2)
    torch.testing.assert_close(after.options.outer, both)
