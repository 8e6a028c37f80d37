"""Demonstrations in Craft: generated, read from files, replayed, as training data and in batches."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from induce.data.batches import Batch
from induce.data.loaders import BatchSettings, falling_rate
from induce.data.training_data import TrainingData
from induce.data.vocabulary import BOUNDARY, FIRST, UNKNOWN, Vocabulary
from induce.setting import BY_GRADIENTS, count, setting, share
from induce.settings.run import RunConfig, TaskSettings
from induce.tasks.base import bad, part_of
from induce.tasks.batches import DemonstrationBatch
from induce.tasks.craft.demonstrator import demonstrate
from induce.tasks.craft.episodes import LIMIT
from induce.tasks.craft.observation import FEATURES, observe
from induce.tasks.craft.sketches import goals_of, read_sketch, read_sketches, treasure_of
from induce.tasks.craft.world import ACTIONS, Worlds, draw, read_map, write_maps
from induce.tasks.examples import LengthLoader, set_aside
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.core.sentence import Location
from treebank.io.expand import expand
from treebank.io.lines import open_lines

CHUNK = 128  # worlds that are generated at a time
VALIDATION = 0.25  # ratio of development to training demonstrations; 20 to 80 in the thesis


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The actions of an agent in a world for a task, and the ends of the subtasks, which are not model input."""

    sketch: str
    map: str  # initial world, in the format of `world.write_maps`
    actions: tuple[str, ...]
    ends: tuple[int, ...]  # of each subtask, the index of the action that did it

    def __str__(self) -> str:
        """The line of a file: task, map and actions, separated by spaces. The ends are computed by replaying."""
        return " ".join((self.sketch, self.map, *self.actions))

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.actions)


@dataclass(frozen=True, kw_only=True)
class CraftSettings(TaskSettings):
    """Settings of the task."""

    reads_text = False
    sets_share_aside = False

    expressions: int = count(20_000, "training demonstrations to generate if no file is given")
    sketches: str = setting("AC CD DA", help="tasks to learn, each by the letters of its subtasks or by name")

    def check_run(self, config: RunConfig) -> None:
        """Raises SynparseError if ``model.tasks`` differs from the number of ``task.sketches``."""
        count, expected = len(read_sketches(self.sketches)), config.model.get("tasks", 0)
        if expected != count:
            raise SynparseError(f"setting model.tasks = {expected}, and task.sketches names {count}; make them agree")


class Craft:
    """The task of following a sketch in Craft."""

    Config: ClassVar[type] = CraftSettings

    def generate(self, config: CraftSettings, part: str, count: int) -> Iterator[Demonstration]:
        """``count`` demonstrations of ``part``, the tasks of ``task.sketches`` alternately, the same at every call."""
        streams = [generate_sketch(sketch, part) for sketch in read_sketches(config.sketches)]
        for index in range(count):
            yield next(streams[index % len(streams)])

    def read(self, paths: Iterable[str], config: CraftSettings) -> Iterator[Demonstration]:
        """The demonstrations in files, one per line, replayed.

        Raises TreebankError if one does not complete its task, or if its task is not in ``task.sketches``.
        """
        sketches = read_sketches(config.sketches)
        for path in expand(paths):
            for number, line in open_lines(path):
                if line.strip():
                    demonstration = parse_line(line, location := Location(path, number))
                    if demonstration.sketch not in sketches:
                        names = " ".join(sketches)
                        raise bad(location, f"task {demonstration.sketch!r} is none of task.sketches ({names})")
                    yield demonstration


def generate_sketch(sketch: str, part: str) -> Iterator[Demonstration]:
    """Infinite demonstrations of one task by shortest paths, in worlds whose maps belong to ``part``."""
    rng = np.random.default_rng(zlib.crc32(sketch.encode()))
    while True:
        worlds = draw(rng, CHUNK, treasure_of(sketch))
        maps = write_maps(worlds)
        rows = np.array([row for row, text in enumerate(maps) if part_of(text) == part], dtype=np.int64)
        paths = demonstrate(worlds.select(rows), sketch)
        for index in np.flatnonzero(paths.solved):
            actions = tuple(ACTIONS[action] for action in paths.actions[index] if action >= 0)
            yield Demonstration(sketch, maps[rows[index]], actions, tuple(paths.ends[index].tolist()))


def parse_line(line: str, location: Location) -> Demonstration:
    """The demonstration in one line of a file. Raises TreebankError if it is malformed or does not do its task."""
    fields = line.split()
    if len(fields) < 3:
        raise bad(location, "expected a task, a map and actions, such as: AC MAP down use left use")
    try:
        demonstration = follow(read_sketch(fields[0]), fields[1], fields[2:])
    except (ValueError, SynparseError) as error:
        raise bad(location, str(error)) from None
    sketch, ends, size = demonstration.sketch, demonstration.ends, demonstration.size
    if len(ends) < len(sketch):
        raise bad(location, f"the actions do {len(ends)} of the {len(sketch)} subtasks of {sketch}")
    if ends[-1] != size - 1:
        raise bad(location, f"{sketch} is done after {ends[-1] + 1} of the {size} actions; leave out the others")
    return demonstration


def follow(sketch: str, text: str, words: Sequence[str]) -> Demonstration:
    """The demonstration of ``words`` in the world ``text``, possibly incomplete. Raises ValueError if malformed."""
    unknown = next((word for word in words if word not in ACTIONS), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not an action ({', '.join(ACTIONS)})")
    goals: list[int] = goals_of(sketch).tolist()
    ends: list[int] = []
    worlds = read_map([text])
    for step, word in enumerate(words):
        used = worlds.act(np.array([ACTIONS.index(word)]))
        if len(ends) < len(goals) and used.changed[0] and used.kind[0] == goals[len(ends)]:
            ends.append(step)
    return Demonstration(sketch, text, tuple(words), tuple(ends))


@dataclass(frozen=True)
class Trajectories:
    """Encoded demonstrations, with their steps concatenated."""

    before: Worlds  # the world before each step
    actions: np.ndarray  # index of the action of each step
    offsets: np.ndarray  # demonstration k has the steps offsets[k] to offsets[k + 1]
    sketches: np.ndarray  # index of the task of each demonstration

    def __len__(self) -> int:
        return len(self.sketches)

    @property
    def lengths(self) -> list[int]:
        """Steps of each demonstration."""
        return np.diff(self.offsets).tolist()


def replay(demonstrations: Sequence[Demonstration], sketches: Sequence[str]) -> Trajectories:
    """Replay ``demonstrations``, recording the world before each step. Tasks are numbered as in ``sketches``."""
    worlds = read_map([each.map for each in demonstrations])
    lengths = np.array([each.size for each in demonstrations], dtype=np.int64)
    offsets = np.concatenate(([0], lengths.cumsum()))
    count = int(offsets[-1])
    actions = np.array([ACTIONS.index(word) for each in demonstrations for word in each.actions], dtype=np.int64)
    before = Worlds(
        np.zeros((count, *worlds.grid.shape[1:]), np.uint8),
        np.zeros((count, 2), np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, worlds.inventory.shape[1]), np.uint8),
    )
    for time in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > time)
        running = worlds.select(rows)
        before.replace(offsets[rows] + time, running)
        running.act(actions[offsets[rows] + time])
        worlds.replace(rows, running)
    numbers = {sketch: number for number, sketch in enumerate(sketches)}
    return Trajectories(before, actions, offsets, np.array([numbers[each.sketch] for each in demonstrations], np.int64))


class Demonstrations(TrainingData):
    """Demonstrations of the tasks ``sketches``."""

    def __init__(self, demonstrations: Iterable[Demonstration], sketches: Sequence[str]) -> None:
        self.demonstrations, self.sketches = list(demonstrations), tuple(sketches)
        self.sha256 = digest_bytes("".join(f"{each}\n" for each in self.demonstrations).encode())

    @property
    def sentences(self) -> int:
        """Number of demonstrations."""
        return len(self.demonstrations)

    @property
    def words(self) -> int:
        """Number of actions."""
        return sum(each.size for each in self.demonstrations)

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """The actions."""
        return Vocabulary([BOUNDARY, UNKNOWN, *ACTIONS])

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> Trajectories:
        """Worlds and actions, without the ends of subtasks."""
        return replay(self.demonstrations, self.sketches)


def load_demonstrations(
    config: RunConfig, text: Sequence[str], dev: Sequence[str]
) -> tuple[Demonstrations, Demonstrations]:
    """Training and development demonstrations: of the files ``text`` and ``dev``, or generated if no file is given.

    ``task.expressions`` are generated for training, and a quarter as many for development, as in the thesis. Without
    ``dev``, every fifth demonstration of ``text`` is set aside. Raises SynparseError if a file is malformed.
    """
    task, settings = Craft(), config.task
    sketches, count = read_sketches(settings.sketches), settings.expressions
    training = list(task.read(text, settings) if text else task.generate(settings, "train", count))
    if dev:
        development = list(task.read(dev, settings))
    elif text:
        training, development = set_aside(training, round(1 / VALIDATION) + 1)
    else:
        development = list(task.generate(settings, "dev", max(len(sketches), round(VALIDATION * count))))
    for part, paths in ((training, text), (development, dev)):
        if not part and paths:
            raise SynparseError(f"{' '.join(paths)}: contains no demonstration")
        if any(each.size > LIMIT for each in part):
            raise SynparseError(f"{' '.join(paths)}: a demonstration has more than {LIMIT} actions")
    return Demonstrations(training, sketches), Demonstrations(development, sketches)


@dataclass(frozen=True, kw_only=True)
class DemonstrationSettings(BatchSettings):
    """Settings of batches of demonstrations, with a linear schedule of the learning rate."""

    steady: float = share(
        1.0, "share of the training after which the learning rate falls evenly to 0", when=BY_GRADIENTS
    )


class DemonstrationLoader(LengthLoader):
    """Batches of demonstrations of similar length."""

    Config: ClassVar[type] = DemonstrationSettings
    makes: ClassVar[tuple[type[Batch], ...]] = (DemonstrationBatch,)

    def lengths_of(self, items: Trajectories) -> Sequence[int]:
        """Steps of each demonstration."""
        return items.lengths

    def rate(self, epochs: float) -> float:
        """Factor on the learning rate, which falls after ``loader.steady`` of the training."""
        return falling_rate(epochs / self.epochs, self.config.steady, 0.0)

    def batch(self, chosen: Sequence[int]) -> DemonstrationBatch:
        """Batch of the demonstrations whose indices are ``chosen``."""
        return make_batch(self.items, chosen).to(self.device)


def make_batch(items: Trajectories, chosen: Sequence[int]) -> DemonstrationBatch:
    """The demonstrations whose indices are ``chosen``, padded after their ends."""
    import torch

    starts = items.offsets[list(chosen)]
    lengths = items.offsets[np.array(chosen) + 1] - starts
    real = np.arange(lengths.max()) < lengths[:, None]
    steps = (starts[:, None] + np.arange(lengths.max()))[real]
    tokens = np.zeros(real.shape, dtype=np.int64)
    tokens[real] = items.actions[steps] + FIRST
    observations = np.zeros((*real.shape, FEATURES), dtype=np.float32)
    observations[real] = observe(items.before.select(steps))
    arrays = tokens, lengths, observations, items.sketches[list(chosen)]
    return DemonstrationBatch(*map(torch.from_numpy, arrays))
