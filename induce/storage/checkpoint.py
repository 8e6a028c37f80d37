"""A trained model on disk: a folder of plain files, read strictly, replaced as a whole.

``RUN/best`` and ``RUN/last`` each hold checkpoint.json, vocabulary.txt and weights.safetensors; ``last`` also holds
trainer.pt, which is read with ``weights_only=True``. Nothing here executes what a file says. checkpoint.json has the
size and the digest of every file and of itself, so that damage is told and never changes a result.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from induce.config import RunConfig
from induce.data.vocabulary import Vocabulary
from induce.storage import weights as tensors
from induce.storage.facts import (
    DAMAGED,
    FACTS_FILE,
    FORMAT,
    LARGEST,
    LARGEST_TRAINER,
    TRAINER,
    VOCABULARY,
    WEIGHTS,
    CheckpointError,
    check_digest,
    check_size,
    describe,
    gist,
    read_facts,
    read_file,
    regular_size,
    seal,
    shown,
)
from induce.storage.folders import save, settle, whole
from induce.storage.locate import CHECKPOINTS, PathType, locate
from induce.storage.packed import unpack
from treebank.base.errors import SynparseError
from treebank.base.version import VERSION

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Checkpoint", "CheckpointError", "build_model", "find", "gist", "pack", "read", "save", "settle"]

ATTEMPTS, PAUSE = 200, 0.005  # to read a folder that a training is replacing; seconds


class _Held:
    """An open file, closed with the last use of this object.

    In another process (it can be pickled) the file is opened again when it is needed; digests tell if it is another.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = regular_size(path)
        self._stream: BinaryIO | None = path.open("rb")

    @property
    def stream(self) -> BinaryIO:
        if self._stream is None:
            self._stream = self.path.open("rb")
        return self._stream

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "size": self.size, "_stream": None}

    def __del__(self) -> None:
        if stream := getattr(self, "_stream", None):
            stream.close()


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds. The weights are open, not read: a training may replace the folder meanwhile."""

    folder: Path
    config: RunConfig
    vocabulary: Vocabulary
    facts: Mapping[str, Any]  # step, epoch, history, digests … as in checkpoint.json
    files: Mapping[str, Mapping[str, Any]] = field(repr=False)  # name -> {"bytes": …, "sha256": …}
    held: _Held = field(repr=False)

    def weights(self) -> dict[str, Tensor]:
        """Parameter name -> tensor, on the CPU."""
        path = self.folder / WEIGHTS
        self.header()
        self.held.stream.seek(0)
        data = self.held.stream.read(self.held.size)
        check_digest(path, data, self.files[WEIGHTS])
        try:
            return tensors.parse(data)
        except ValueError as error:
            raise CheckpointError(f"{path}: cannot be read as weights ({error}); {DAMAGED}") from None

    def header(self) -> dict[str, tensors.Entry]:
        """Parameter name -> type and shape, as the file of the weights begins."""
        path = self.folder / WEIGHTS
        check_size(path, self.held.size, self.files[WEIGHTS])
        try:
            return tensors.read_header(self.held.stream, self.held.size)
        except ValueError as error:
            raise CheckpointError(f"{path}: cannot be read as weights ({gist(error)}); {DAMAGED}") from None

    def fact(self, name: str) -> Any:
        """What checkpoint.json says under ``name``. Raises CheckpointError if it says nothing."""
        if name not in self.facts:
            raise CheckpointError(f"{self.folder / FACTS_FILE}: {name!r} is missing; {DAMAGED}")
        return self.facts[name]

    def trainer(self) -> dict[str, Any]:
        """The trainer's state, for --resume."""
        from io import BytesIO

        import torch

        path = self.folder / TRAINER
        if TRAINER not in self.files or not path.exists():
            raise CheckpointError(f"{path}: missing, so this run cannot be resumed; train again with --overwrite")
        times, beside = LARGEST_TRAINER
        data = read_file(path, times * self.held.size + beside)
        check_digest(path, data, self.files[TRAINER])
        try:
            with warnings.catch_warnings(action="ignore"):  # about what a damaged file might be
                state = torch.load(BytesIO(data), map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises many kinds for a damaged file
            raise CheckpointError(f"{path}: cannot be read ({type(error).__name__}); {DAMAGED}") from None
        if not isinstance(state, dict):
            raise CheckpointError(f"{path}: does not hold a trainer's state")
        return state


def build_model(checkpoint: Checkpoint) -> Any:
    """The model with its trained weights, in evaluation mode on the CPU.

    Raises CheckpointError before any memory is taken if settings and weights do not fit together.
    """
    from induce.models.build import make_model

    config, size = checkpoint.config, len(checkpoint.vocabulary)
    header = checkpoint.header()
    try:
        tensors.check_numbers(config.model, checkpoint.held.size)
        tensors.check_fit(lambda: make_model(config, size), header)
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError, SynparseError) as error:
        raise CheckpointError(f"{checkpoint.folder}: weights and settings do not fit together: {gist(error)}") from None
    weights = checkpoint.weights()
    try:
        model = make_model(config, size)
        model.load_state_dict(weights, strict=True)
    except (TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise CheckpointError(f"{checkpoint.folder}: weights and settings do not fit together: {gist(error)}") from None
    return model.eval()


def pack(
    model: Any,
    config: RunConfig,
    vocabulary: Vocabulary,
    facts: Mapping[str, Any],
    trainer: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """The files of a checkpoint, as bytes, so that a full disk is an OSError and nothing else."""
    from io import BytesIO

    import torch
    from safetensors.torch import save as to_bytes

    state = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    packed = {
        VOCABULARY: ("\n".join(vocabulary.words) + "\n").encode("utf-8", "surrogatepass"),
        WEIGHTS: to_bytes(state),
    }
    if trainer is not None:
        stream = BytesIO()
        torch.save(dict(trainer), stream)
        packed[TRAINER] = stream.getvalue()
    content = {
        **facts,
        "format": FORMAT,
        "synparse": VERSION,
        "torch": torch.__version__,
        "settings": config.as_dict(),
        "vocabulary_size": len(vocabulary),
        "files": {name: describe(data) for name, data in packed.items()},
    }
    return {**packed, FACTS_FILE: seal(content)}


def find(run: Path, which: tuple[str, ...] = CHECKPOINTS) -> Path:
    """The checkpoint folder of the model ``run``: its ``best``, else its ``last``, else ``run`` itself.

    A packed model is unpacked into a temporary folder, which exists until the program ends. Nothing else is written.
    Raises CheckpointError if there is no model.
    """
    located = locate(run)
    if located.type in (PathType.PACKED, PathType.FILE):
        return unpack(located.path)
    for name in which:
        if whole(run / name):
            return run / name
        if (seal := run / name / FACTS_FILE).is_symlink():  # the other checkpoint is another model
            raise CheckpointError(f"{seal}: this link leads nowhere; mend or remove it to use what else is in {run}")
    if (run / FACTS_FILE).exists():
        return run
    raise CheckpointError(_no_model(run, located.type, which))


def _no_model(run: Path, type_: PathType, which: tuple[str, ...]) -> str:
    """The message for a path without a model."""
    if type_ is PathType.ENSEMBLE:
        return f"{run}: this is an ensemble, which can only parse; name one of its members instead"
    if not run.is_dir():
        return f"{run}: there is no such model; train one with: synparse train -o {run}"
    models = sorted(path.name for path in run.iterdir() if any(whole(path / name) for name in which))
    if models:
        names = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
        return f"{run}: this is a folder of models ({names}); name one of them: -m {run / models[0]}"
    return f"{run}: this folder holds no model; train one with: synparse train -o {run}"


def read(folder: Path) -> Checkpoint:
    """The checkpoint in ``folder``, or beside it after a kill. Touches nothing.

    Raises CheckpointError naming the file and what is wrong with it. A training may replace the folder meanwhile:
    what is returned is of one writing.
    """
    for _ in range(ATTEMPTS):
        place = whole(folder) or folder
        with _identity(place) as before:
            try:
                checkpoint = _read_once(place)
            except (OSError, SynparseError):
                with _identity(whole(folder) or folder) as now:
                    if now == before and (whole(folder) or folder) == place:  # else it was renamed meanwhile
                        raise
            else:
                with _identity(place) as now:
                    if now == before:
                        return checkpoint
        time.sleep(PAUSE)
    raise CheckpointError(f"{folder}: is replaced again and again while it is read; wait for the training to end")


@contextmanager
def _identity(folder: Path) -> Iterator[tuple[int, int] | None]:
    """What tells a folder from the one that takes its place, while it is held open: its number may be given anew."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None  # missing, or a system that does not open folders
        return
    try:
        status = os.fstat(descriptor)
        yield status.st_dev, status.st_ino
    finally:
        os.close(descriptor)


def _read_once(folder: Path) -> Checkpoint:
    content = read_facts(folder / FACTS_FILE)
    try:
        vocabulary = _vocabulary(folder / VOCABULARY, content.get("vocabulary_size"), content["files"])
        config = RunConfig.from_dict(content["settings"])
        held = _Held(folder / WEIGHTS)
    except KeyError as error:
        raise CheckpointError(f"{folder / FACTS_FILE}: {error} is missing; {DAMAGED}") from None
    except CheckpointError:
        raise
    except SynparseError as error:
        raise CheckpointError(f"{folder / FACTS_FILE}: {error}; {DAMAGED}") from None
    facts = {key: value for key, value in content.items() if key not in ("settings", "files", "sha256")}
    return Checkpoint(folder, config, vocabulary, facts, content["files"], held)


def _vocabulary(path: Path, size: Any, files: Mapping[str, Any]) -> Vocabulary:
    """The words in vocabulary.txt, ``size`` of them."""
    data = read_file(path, LARGEST[VOCABULARY])
    check_digest(path, data, files[VOCABULARY])
    try:
        vocabulary = Vocabulary(data.decode("utf-8").removesuffix("\n").split("\n"))
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; {DAMAGED}") from None
    if len(vocabulary) != size:
        raise CheckpointError(f"{path}: holds {len(vocabulary)} words, {shown(size)} were saved; {DAMAGED}")
    return vocabulary
