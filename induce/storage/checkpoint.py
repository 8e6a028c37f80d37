"""A trained model as it is stored: settings, vocabulary, facts about its training, and weights, in one file.

``RUN/model.safetensors`` is the best model of a training run so far, and ``RUN/resume.safetensors`` is the latest one
with the complete state of the trainer. `induce.storage.model_file` describes the format.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from induce.data.vocabulary import Vocabulary
from induce.decoding.branching_direction import Direction
from induce.setting import setting_text
from induce.settings.run import TABLE_NAMES, RunConfig, model_settings
from induce.storage.locate import BASELINE, LOCK, MODEL_FILES, PathType, is_earlier_model, locate
from induce.storage.model_file import DAMAGED, TRAINER, ModelFile, model_parts
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.files import replacing
from treebank.base.metadata import MetadataError, abbreviate, decode, encode, one_line
from treebank.corpora.sample import SAMPLE

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


UNKNOWN_HERE = "install the package that has it, or another version of synparse"  # the model is not damaged
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True, kw_only=True)
class TextFacts:
    """Size and digest of a training or development text, as the model reads it."""

    sentences: int
    words: int
    sha256: str


NO_TEXT = TextFacts(sentences=0, words=0, sha256="")


@dataclass(frozen=True, kw_only=True)
class TreesFacts:
    """The treebank or the parsed text whose trees a model learned from."""

    name: str
    note: str = ""
    kind: str  # "gold", "random", "parsed" …
    sentences: int


@dataclass(frozen=True)
class Check:
    """One evaluation on the development text, which has no gold trees. Losses are in nats per token."""

    epoch: int
    step: int
    loss: float = math.inf
    perplexity: float = math.inf
    development_loss: float = math.inf
    development_perplexity: float = math.inf
    best: bool = False
    note: str = ""
    seconds: float = 0.0
    development_bits: float | None = None  # per character, for models of characters
    development_accuracy: float | None = None  # if items have labels
    measure: str = "perplexity"


@dataclass(frozen=True, kw_only=True)
class RecipeFacts:
    """The recipe whose result a model is: its seed, the names of its trained models, and whether it ended."""

    name: str
    seed: int
    models: tuple[str, ...] = ()
    finished: bool = False
    minutes: float = 0.0  # wall-clock time of all models


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The facts about a training run: its data, how far it is, and where it was computed."""

    texts: tuple[str, ...] = ()  # paths; empty for the built-in sample, and for a treebank alone
    development_texts: tuple[str, ...] = ()
    paragraphs: bool = False
    form: str = ""  # input format, if it was given
    encoding: str = ""
    trees: TreesFacts | None = None
    teachers: tuple[str, ...] = ()  # models and files that the model was distilled from
    annotation: str = ""  # type of the teachers' output, such as "parsed trees"
    training: TextFacts = NO_TEXT
    development: TextFacts = NO_TEXT
    unknown_share: float | None = None  # share of the running words of the training text that have no entry
    joining: tuple[str, ...] = ()  # punctuation marks that join words
    direction: Direction | None = None  # branching direction of the training text
    health: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    step: int = -1  # 0 before the first step, -1 if unknown
    finished: str = ""  # the reason why training is over, in the state to resume from; "" if it can continue
    seconds: float = 0.0
    device: str = ""
    threads: int = 0
    processes: int = 1
    matrix_library: str = ""  # library that multiplied matrices
    history: tuple[Check, ...] = ()
    program_facts: dict[str, Any] = field(default_factory=dict)  # of a training program of its own
    recipe: RecipeFacts | None = None  # that the model is the result of
    confidence: tuple[tuple[float, float], ...] = ()  # score of a phrase -> confidence in it, rising

    @property
    def sources(self) -> tuple[str, ...]:
        """Texts, or else the treebank, whose words the model learned from. Empty for the built-in sample."""
        treebank = self.trees and self.trees.name
        return self.texts or ((treebank,) if treebank and treebank != SAMPLE else ())

    @property
    def learned_from(self) -> str:
        """The trees that the model learned from or was distilled from, or "" if it has seen text alone."""
        if self.recipe:
            return f"{self.annotation}: recipe {self.recipe.name} (teacher)" if self.annotation else ""
        if self.teachers:
            return f"{self.annotation}: {', '.join(self.teachers)} (teacher)"
        if not self.trees:
            return ""
        return f"{self.trees.kind} trees: {self.trees.name}" + (f" ({self.trees.note})" if self.trees.note else "")


@dataclass(frozen=True)
class Checkpoint:
    """A stored model, whose weights are read on demand from the open file."""

    path: Path
    config: RunConfig
    vocabulary: Vocabulary
    facts: RunFacts
    version: str  # of synparse, which wrote it
    file: ModelFile = field(repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights."""
        sha256: str = self.file.content["weights"]
        return sha256

    @property
    def identity(self) -> str:
        """The part of a signature that names the model: ``model:onlstm|checkpoint:3f2a91c0``."""
        return f"model:{self.config.model_name}|checkpoint:{self.digest[:8]}"

    @property
    def weight_count(self) -> int:
        """Number of stored weights."""
        return sum(math.prod(entry["shape"]) for name, entry in self.file.table.items() if not name.startswith(TRAINER))

    def settings(self) -> Iterator[list[str]]:
        """The settings ``table.key=value`` of each table, the name of its component first.

        Those about the trees of a treebank are left out if the model has not seen any.
        """
        tables = self.config.as_dict()
        unused = () if self.facts.trees else ("trees", "tree_share")
        for table in TABLE_NAMES:
            component = tables.get(f"{table}_name")
            names = {"name": component, **tables[table]} if component else tables[table]
            yield [f"{table}.{key}={setting_text(value)}" for key, value in names.items() if key not in unused]

    def weights(self) -> dict[str, Tensor]:
        """Parameter name -> tensor, on the CPU. Raises MetadataError if they are damaged or not finite."""
        import torch
        from safetensors.torch import load

        return self._loaded(self.file.weights(), load, torch.isfinite)

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameter name -> array, without torch. Raises MetadataError if they are damaged or not finite."""
        import numpy as np
        from safetensors.numpy import load

        return self._loaded(self.file.weights(), load, np.isfinite)

    def trainer(self) -> dict[str, Any]:
        """The state of the trainer, for resuming. Raises MetadataError if it is missing or damaged."""
        from safetensors.torch import load

        tensors, values = self.file.trainer()
        try:
            state = join_tensors(values, self._loaded(tensors, load))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise MetadataError(f"{self.path}: the state of its trainer cannot be read ({error}); {DAMAGED}") from None
        if not isinstance(state, dict):
            raise MetadataError(f"{self.path}: does not contain the state of a trainer; {DAMAGED}")
        return state

    def _loaded(
        self, data: bytes, load: Callable[[bytes], dict[str, Any]], is_finite: Callable[[Any], Any] | None = None
    ) -> dict[str, Any]:
        """The tensors in ``data``. Raises MetadataError if they cannot be read, or are not finite."""
        from safetensors import SafetensorError

        try:
            values = load(data)
            if is_finite and not all(is_finite(value).all() for value in values.values()):
                raise ValueError("it contains weights that are not finite numbers")
            return values
        except (KeyError, SafetensorError, RuntimeError, ValueError, MemoryError) as error:
            problem = f"cannot be read as weights ({one_line(error) or 'too large'}); {DAMAGED}"
            raise MetadataError(f"{self.path}: {problem}") from None


def build_model(checkpoint: Checkpoint) -> Any:
    """The model with its trained weights, in evaluation mode on the CPU.

    Raises MetadataError if settings and weights do not fit together, before the model takes much memory.
    """
    from induce.models.base import build_with, make_model

    config, size, tensors = checkpoint.config, len(checkpoint.vocabulary), checkpoint.weights()
    with _fitting(checkpoint):
        model = build_with(lambda: make_model(config, size), config.model, tensors)
    return model.eval()


def build_array_model(checkpoint: Checkpoint, kind: Any) -> Any:
    """The model of the class ``kind``, which computes with arrays. Raises MetadataError as `build_model` does."""
    config, arrays = checkpoint.config, checkpoint.arrays()
    with _fitting(checkpoint):
        return kind(model_settings(kind.Config, config.model, config.model_name), len(checkpoint.vocabulary), arrays)


@contextmanager
def _fitting(checkpoint: Checkpoint) -> Iterator[None]:
    """Report errors within the block as settings and weights that do not fit together."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError, MemoryError, SynparseError) as error:
        problem = f"weights and settings do not fit together: {one_line(error)}"
        raise MetadataError(f"{checkpoint.path}: {problem}") from None


def pack(
    model: Any, config: RunConfig, vocabulary: Vocabulary, facts: RunFacts, trainer: Mapping[str, Any] | None = None
) -> list[bytes | memoryview]:
    """The parts of the file of a model, with the state of the ``trainer`` if it is given.

    They are complete before anything is written, so that a full disk is an OSError and nothing else.
    """
    import torch
    from safetensors.torch import save as to_bytes

    values, tensors = split_tensors(dict(trainer)) if trainer is not None else (None, {})
    return model_parts(
        {"torch": torch.__version__, "settings": config.as_dict(), "facts": encode(facts)},
        "\n".join(vocabulary.words),
        to_bytes({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}),
        to_bytes(tensors) if trainer is not None else b"",
        values,
    )


def split_tensors(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """The ``state`` of a trainer as JSON values, and its tensors, on the CPU, by the names that the values refer to.

    It consists of nested dictionaries, lists and tuples of tensors, numbers and texts. In JSON, a dictionary, a tuple,
    a tensor or a number that is not finite is an object with one key, because JSON has no other way to keep their
    types: keys of optimizers are numbers.
    """
    from torch import Tensor

    tensors: dict[str, Tensor] = {}

    def encoded(value: Any) -> Any:
        if isinstance(value, Tensor):
            name = str(len(tensors))
            tensors[name] = value.detach().cpu().contiguous().clone()  # safetensors refuses shared memory
            return {"tensor": name}
        if isinstance(value, Mapping):
            return {"items": [[encoded(key), encoded(part)] for key, part in value.items()]}
        if isinstance(value, list | tuple):
            parts = [encoded(part) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, float) and not abs(value) < float("inf"):
            return {"float": repr(value)}
        if type(value) not in PLAIN:
            raise TypeError(f"the state of a trainer cannot contain {type(value).__name__}")
        return value

    return encoded(state), tensors


def join_tensors(values: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The state that `split_tensors` took apart. Raises ValueError, KeyError or TypeError for other values."""
    if isinstance(values, list):
        return [join_tensors(value, tensors) for value in values]
    if not isinstance(values, dict):
        return values
    ((kind, value),) = values.items()
    if kind == "items":
        return {join_tensors(key, tensors): join_tensors(part, tensors) for key, part in value}
    if kind == "tuple":
        return tuple(join_tensors(part, tensors) for part in value)
    if kind == "float":
        return float(value)
    if kind == "tensor":
        return tensors[value]
    raise ValueError(f"unknown type {kind!r}")


def save(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write the file of a model from its ``parts``. After an error or a kill, it has its earlier or its new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.writelines(parts)


def find(run: Path, names: tuple[str, ...] = MODEL_FILES) -> Path:
    """The file of the model ``run``, which is that file, or a folder with the first of the files ``names``.

    Raises MetadataError if there is no model.
    """
    located = locate(run)
    if located.type in (PathType.MODEL_FILE, PathType.FILE):
        return located.path
    for path in (run / name for name in names):
        if path.is_symlink() and not path.exists():  # the other file is another model
            problem = f"this link leads nowhere; repair it, or remove it to use the other model in {run}"
            raise MetadataError(f"{path}: {problem}")
        if path.exists():
            return path
    raise MetadataError(f"{run}: {missing_model(run, located.type)}")


def missing_model(run: Path, type_: PathType) -> str:
    """Error message for the path ``run`` without a model: its type, and a command that makes a model."""
    if type_ is PathType.ENSEMBLE:
        return "this is an ensemble, which can only parse; name one of its members instead"
    if str(run).startswith(BASELINE):
        return f"a baseline is not a model; make it one with: synparse combine {run} -o FOLDER"
    if not run.is_dir():
        return f"there is no such model; train one with: synparse train -o {run}"
    if is_earlier_model(run):
        return "this model was written by an earlier version of synparse; train it again with --overwrite"
    if type_ is PathType.JOB:
        return f"{type_} that is not finished; continue with: synparse train --resume -o {shlex.quote(str(run))}"
    models = sorted(path.name for path in run.iterdir() if any((path / name).exists() for name in MODEL_FILES))
    if models:
        examples = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
        first = shlex.quote(str(run / models[0]))
        return f"this is a folder of models ({examples}); name one of them: -m {first}"
    if type_ is PathType.CORPUS:
        return f"this is {type_}; train a model on it with: synparse train {shlex.quote(str(run))} -o FOLDER"
    advice = f"synparse train -o {shlex.quote(str(run))}"
    if files := sorted(path.name for path in run.iterdir() if locate(path).type is PathType.MODEL_FILE):
        return f"the model in this folder has another file name; name the file: -m {shlex.quote(str(run / files[0]))}"
    if (run / LOCK).exists():
        problem = "training has begun in this folder and has saved no model yet"
        return f"{problem}; wait for it, or if it was killed, train again with: {advice}"
    return f"this folder holds no model; train one with: {advice}"


def read(path: Path) -> Checkpoint:
    """The model in the file ``path``, which stays open, so that all its parts are of the same version.

    Raises MetadataError naming the file and the problem.
    """
    file = ModelFile.open(path)
    try:
        settings, facts = file.content["settings"], decode(RunFacts, file.content["facts"])
        version = abbreviate(file.content["synparse"]).strip("'\"")
        vocabulary = Vocabulary(file.words.split("\n"))
        return Checkpoint(path, RunConfig.from_dict(settings), vocabulary, facts, version, file)
    except KeyError as error:
        raise MetadataError(f"{path}: {error} is missing; {DAMAGED}") from None
    except MetadataError:
        raise
    except UnknownNameError as error:
        raise MetadataError(f"{path}: {one_line(error)}; {UNKNOWN_HERE}") from None
    except (SynparseError, ValueError, TypeError) as error:
        raise MetadataError(f"{path}: {one_line(error)}; {DAMAGED}") from None
