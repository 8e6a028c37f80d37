"""Learning a new task with trained options: only the controller is new (thesis, algorithm 4).

The result is an ordinary training run. Its model has the given options and a controller for the new task only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.settings.presets import changed, load_preset, with_seed
from induce.settings.run import RunConfig
from induce.storage import checkpoint as store
from induce.storage.checkpoint import NO_TEXT, Check, RunFacts
from induce.storage.model_file import RESUME
from induce.storage.outputs import RunLock, check_free, clear, remove_leftovers, resumable, resume_command
from induce.tasks.craft.baselines import Compile, OrderedMemoryPolicy
from induce.tasks.craft.ocn import MixtureOfExperts, OptionController, OptionControllerConfig
from induce.tasks.craft.option_calls import MAX_ACTIONS, Calls, as_option, options_of, with_one_task
from induce.tasks.craft.world import ACTIONS, LIMIT, REWARDS, Episodes, read_sketch
from induce.training.learners import Position
from induce.training.loop import SAVE_SECONDS, Clock, Limits, never
from induce.training.request import check_kept
from induce.training.state import Content, append_event, cut_log, resume_error, store_checkpoint
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.base.metadata import encode

if TYPE_CHECKING:
    from induce.tasks.craft.ppo import ControllerLearner

DEFAULT_SKETCH = "ADC"
WORLDS = 64  # worlds run in parallel
TRANSFERABLE = ("ocn", "moe", "ompn", "compile")
PUBLISHED = ("train.epochs=60", "optimizer.learning_rate=0.0003", "loader.batch_size=1024", "optimizer.clip=0.5")
EPISODES = ("loader.batch_size=64",)  # 256 calls per iteration, if a call is an episode
SURE_SCORE = 40.0  # score of the only action of an option that always does the same


@dataclass(frozen=True, kw_only=True)
class TransferRequest:
    """Settings of a transfer. Without ``runs`` each option is a single action. None stands for the default."""

    run: str
    runs: Sequence[str] = ()
    sketch: str | None = None
    reward: str | None = None
    unfrozen: bool = False  # whether the options are trained, too
    settings: Sequence[str] = ()
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Learned:
    """Report of one iteration: calls of options in parallel worlds, then updates on these calls."""

    epoch: int
    epochs: int
    calls: int  # since the start of the run
    actions: int
    episodes: int  # episodes that ended in this iteration
    success: float  # share of these episodes in which the task was completed
    reward: float  # mean reward of an episode, over those that ended
    seconds: float


class Transfer:
    """One run: a model and the learner of its controller. The options are frozen unless ``unfrozen`` is set."""

    def __init__(
        self,
        request: TransferRequest,
        config: RunConfig,
        model: OptionController | OrderedMemoryPolicy,
        facts: RunFacts,
        lock: RunLock,
    ) -> None:
        self.folder, self.config, self.model, self.facts, self.lock = Path(request.run), config, model, facts, lock
        self.position = Position(epoch=0)  # a step is a call of an option, a word an action, a target an episode
        self.learner: ControllerLearner | None = None

    def start(self) -> ControllerLearner:
        """The learner, with worlds that earlier iterations have not used."""
        from induce.tasks.craft.ppo import CalledWorlds, ControllerLearner

        config, about = self.config, self.facts.program_facts
        seed = int(np.random.SeedSequence((config.train.seed, self.position.epoch)).generate_state(1)[0])
        episodes = Episodes(config.purpose.sketches, WORLDS, seed=seed, reward=about["reward"])
        if isinstance(self.model, OrderedMemoryPolicy):
            options, width, longest = [as_option(self.model)], config.model["slot_size"], LIMIT
        else:
            options, width, longest = options_of([self.model]), config.model["inner_size"], MAX_ACTIONS
        worlds = CalledWorlds(Calls(options, episodes, seed=seed, max_actions=longest))
        rate = config.optimizer.learning_rate
        about = {"clip": config.optimizer.clip, "seed": seed, "unfrozen": about.get("unfrozen", False)}
        return ControllerLearner(worlds, width=width, rate=rate, batch=config.loader.batch_size, **about)

    def restore(self, checkpoint: store.Checkpoint) -> None:
        """Restore learner and progress from ``checkpoint``. Raises MetadataError if its state is incompatible."""
        state = checkpoint.trainer()
        try:
            self.position = Position.from_stored(state["position"])
            self.learner = self.start()
            self.learner.load_state(state)
        except (AttributeError, KeyError, TypeError, RuntimeError, ValueError) as error:
            raise resume_error(checkpoint.path, error) from None
        cut_log(self.folder, self.position)

    def learn(self, *, max_minutes: float | None = None, stop: Callable[[], bool] = never) -> Iterator[Learned]:
        """Iterate to the end, for at most ``max_minutes`` or until ``stop()`` is true, and save the model."""
        deadline = math.inf if max_minutes is None else time.monotonic() + 60 * max_minutes
        limits, clock = Limits(deadline, stop), Clock(self.position)
        try:
            while self.position.epoch < self.config.train.epochs and not limits.ended():
                yield self.iterate()
                if clock.time_to_save(SAVE_SECONDS):
                    self.save()
            self.save()
        finally:
            self.lock.release()

    def iterate(self) -> Learned:
        """Learn from calls in all worlds once, and log the report."""
        began, at = time.monotonic(), self.position
        self.learner = self.learner or self.start()
        called = self.learner.iterate(1 - at.epoch / self.config.train.epochs)
        ended, solved, reward = (
            sum(float(getattr(result, name).sum()) for result in called) for name in ("over", "solved", "reward")
        )
        at.epoch += 1
        at.step += sum(len(result.reward) for result in called)
        at.words += sum(int(result.actions.sum()) for result in called)
        at.count += int(ended)
        at.seconds += time.monotonic() - began
        success, per_episode = solved / max(1, ended), reward / max(1, ended)
        sizes = at.epoch, self.config.train.epochs, at.step, at.words, int(ended)
        event = Learned(*sizes, success, per_episode, at.seconds)
        best = success >= max((check.development_accuracy or 0.0 for check in at.history), default=0.0)
        at.history += (Check(at.epoch, at.step, best=best, development_accuracy=success),)
        append_event(self.folder, at, event)
        return event

    def save(self) -> None:
        """Write the model and the state for resuming."""
        at, learner = self.position, self.learner or self.start()
        learner.export(self.model)
        training = replace(self.facts.training, sentences=at.count, words=at.words)
        content = Content(
            self.model,
            self.config,
            Vocabulary([BOUNDARY, UNKNOWN, *ACTIONS]),
            replace(self.facts, training=training, device="cpu"),
        )
        trainer = {"position": encode(at), **learner.state()}
        remedy = "the previous checkpoint is unchanged; start a new run with a lower optimizer.learning_rate"
        store_checkpoint(self.folder / RESUME, content, at, trainer, remedy=lambda step: remedy)


def prepare_transfer(request: TransferRequest) -> Transfer:
    """Prepare a new or resumed run. The folder is changed only after all other checks.

    Raises SynparseError if the options are incompatible or stable-baselines3 is missing.
    """
    try:
        import stable_baselines3  # noqa: F401
    except ImportError as error:
        raise SynparseError(f"{error.name} is missing; install it with: pip install 'synparse[skills]'") from None
    folder = Path(request.run)
    if request.resume:
        return _resumed(request, folder)
    reward = request.reward or REWARDS[0]
    models, configs = [], []
    for run in request.runs:
        checkpoint = store.read(store.find(Path(run)))
        if checkpoint.config.purpose_name != "craft" or checkpoint.config.model_name not in TRANSFERABLE:
            raise SynparseError(
                f"{run}: this {checkpoint.config.model_name} cannot act in Craft; train ocn, moe, ompn or compile there"
            )
        model, config = store.build_model(checkpoint), checkpoint.config
        if isinstance(model, Compile):
            model = model.options_of_types()
            config = replace(config, model_name="ocn", model=asdict(model.config))
        models.append(model)
        configs.append(config)
    config = configs[0] if configs else load_preset("craft-small", "moe")
    model = start_of(models) if models else single_actions(int(config.model["inner_size"]))
    is_policy = isinstance(model, OrderedMemoryPolicy)
    sketch = read_sketch(request.sketch or DEFAULT_SKETCH)
    policy, craft = {**config.model, **asdict(model.config)}, replace(config.purpose, sketches=sketch)
    config = replace(config, model=policy, purpose=craft)
    settings = with_seed(request.settings, request.seed)
    for change in request.settings:
        if change.startswith(("model.", "task.", "data.", "parse.")):
            problem = "only [train], [loader] and [optimizer] can be changed; other settings come from the options"
            raise SynparseError(f"setting {change}: {problem}")
    config = changed(config, [*PUBLISHED, *(EPISODES if is_policy else ()), *settings])
    trained = model if isinstance(model, OrderedMemoryPolicy) else model.options
    weights = "".join(f"{name}{value.tolist()}" for name, value in trained.state_dict().items())
    facts = RunFacts(
        program_facts={"runs": list(request.runs), "reward": reward, "unfrozen": request.unfrozen or is_policy},
        texts=(f"calls of the options of {', '.join(request.runs) or 'single actions'}",),
        training=replace(NO_TEXT, sha256=digest_bytes(weights.encode())),
    )
    check_free(folder, overwrite=request.overwrite)
    lock = RunLock(folder)
    check_free(folder, overwrite=request.overwrite)  # again: another training may have started in the meantime
    clear(folder)
    return Transfer(request, config, model, facts, lock)


def _resumed(request: TransferRequest, folder: Path) -> Transfer:
    if not resumable(folder):
        raise SynparseError(f"{folder}: not a run that can be resumed")
    lock = RunLock(folder)
    remove_leftovers(folder)
    checkpoint = store.read(folder / RESUME)
    if not checkpoint.facts.program_facts:
        raise SynparseError(f"{folder}: this run learns from demonstrations; resume it with: {resume_command(folder)}")
    facts, config = checkpoint.facts, checkpoint.config
    options = {
        "--sketch": (request.sketch and read_sketch(request.sketch), config.purpose.sketches),
        "--reward": (request.reward, facts.program_facts["reward"]),
        "--seed": (request.seed, config.train.seed),
    }
    check_kept(options, request.settings)
    run_facts = RunFacts(program_facts=facts.program_facts, texts=facts.texts, training=facts.training)
    config = changed(config, request.settings)
    transfer = Transfer(request, config, store.build_model(checkpoint), run_facts, lock)
    transfer.restore(checkpoint)
    return transfer


def start_of(models: Sequence[OptionController | OrderedMemoryPolicy]) -> OptionController | OrderedMemoryPolicy:
    """The model from which transfer starts: the options of all ``models``, or the only policy without options.

    Raises SynparseError if the models cannot be joined.
    """
    options = [model for model in models if not isinstance(model, OrderedMemoryPolicy)]
    if len(options) == len(models):
        return join(options)
    policies = [model for model in models if isinstance(model, OrderedMemoryPolicy)]
    if len(models) > 1:
        raise SynparseError("ompn has no options that could be joined; name one model")
    return with_one_task(policies[0])


def join(models: Sequence[OptionController]) -> OptionController:
    """One model with the options of all ``models`` and an untrained controller for one task.

    Raises SynparseError if the models have different types, sizes or temperatures.
    """
    first = models[0]
    shared = replace(first.config, options=1, tasks=1)
    for model in models[1:]:
        if type(model) is not type(first) or replace(model.config, options=1, tasks=1) != shared:
            raise SynparseError("the models differ in type, size or temperature; their options cannot be joined")
    count = sum(model.config.options for model in models)
    joined = type(first)(replace(shared, options=count), len(ACTIONS) + 2)
    parts = [model.options.state_dict() for model in models]
    joined.options.load_state_dict({name: torch.cat([part[name] for part in parts]) for name in parts[0]})
    joined.first_option_state.data = torch.cat([model.first_option_state.detach() for model in models])
    return joined.requires_grad_(False)


def single_actions(width: int) -> MixtureOfExperts:
    """A model in which each option always takes one action, with a controller of ``width`` inner units."""
    config = OptionControllerConfig(hidden_size=1, inner_size=width, options=len(ACTIONS), tasks=1, temperature=1.0)
    model = MixtureOfExperts(config, len(ACTIONS) + 2)
    with torch.no_grad():
        for parameter in model.options.parameters():
            parameter.zero_()
        for action in range(len(ACTIONS)):
            model.options.outer_bias[action, 0, action] = SURE_SCORE
    return model.requires_grad_(False)
