"""A trained model on disk: a folder of plain files, read strictly, replaced as a whole.

``RUN/best`` and ``RUN/last`` contain checkpoint.json, vocabulary.txt and weights.safetensors; ``last`` also contains
trainer.pt, which is read with ``weights_only=True``. No code in a file is ever executed. checkpoint.json has the size
and the digest of every file and of itself, so that damage is reported and never changes a result.
"""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from induce.data.vocabulary import Vocabulary
from induce.settings.run import RunConfig, model_settings
from induce.storage.facts import DAMAGED, FORMAT, RunFacts
from induce.storage.folders import FACTS_FILE, TRAINER, VOCABULARY, WEIGHTS, save, settle, whole
from induce.storage.locate import CHECKPOINTS, PathType, locate
from induce.storage.model_spec import BASELINE
from induce.storage.packed import unpack, write_packed
from treebank.base import VERSION
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.files import FileFacts, describe
from treebank.base.metadata import (
    MetadataError,
    abbreviate,
    decode,
    encode,
    json_text,
    one_line,
    open_regular,
    read_bounded,
    read_sealed,
    seal,
)

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


__all__ = ["Checkpoint", "build_model", "find", "pack", "read", "save", "settle"]

UNKNOWN_HERE = "install the package that has it, or another version of synparse"  # the checkpoint is not damaged
HEADER = ("format", "synparse", "torch")  # fields of checkpoint.json about its writer
MAX_VOCABULARY_BYTES = 1 << 28
MAX_TRAINER_BYTES = 16, 1 << 26  # times the bytes of the weights, and bytes in addition


class WeightsFile:
    """The open file of the weights: a training run may replace the folder without changing it.

    In another process, after pickling, the file is opened again by its path; digests detect a different one.
    """

    def __init__(self, path: Path, stream: BinaryIO | None = None) -> None:
        self.path, self._stream = path, stream

    def read(self, expected: FileFacts) -> bytes:
        """The content of the file. Raises MetadataError if it is not the expected one."""
        if self._stream is None:
            self._stream = open_regular(self.path)
        size = os.fstat(self._stream.fileno()).st_size
        self._stream.seek(0)
        data = self._stream.read(size) if size == expected.bytes else b""
        return check_digest(self.path, data, expected, size=size)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_stream": None}


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint folder, the weights opened but not read."""

    folder: Path
    config: RunConfig
    vocabulary: Vocabulary
    facts: RunFacts
    files: Mapping[str, FileFacts] = field(repr=False)
    weights_file: WeightsFile = field(repr=False)
    version: str  # of synparse, which wrote it

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights."""
        return self.files[WEIGHTS].sha256

    @property
    def identity(self) -> str:
        """The part of a signature that names the model: ``model:onlstm|checkpoint:3f2a91c0``."""
        return f"model:{self.config.model_name}|checkpoint:{self.digest[:8]}"

    def weights(self) -> dict[str, Tensor]:
        """Parameter name -> tensor, on the CPU."""
        import torch
        from safetensors.torch import load

        return self._values(load, torch.isfinite)

    def arrays(self) -> dict[str, np.ndarray]:
        """Parameter name -> array, without torch."""
        import numpy as np
        from safetensors.numpy import load

        return self._values(load, np.isfinite)

    def _values(self, load: Callable[[bytes], dict[str, Any]], is_finite: Callable[[Any], Any]) -> dict[str, Any]:
        """The weights as ``load`` reads them. Raises MetadataError if they are damaged or not finite."""
        from safetensors import SafetensorError

        data = self.weights_file.read(self.files[WEIGHTS])
        try:
            values = load(data)
            if not all(is_finite(value).all() for value in values.values()):
                raise ValueError("it contains weights that are not finite numbers")
            return values
        except (KeyError, SafetensorError, RuntimeError, ValueError, MemoryError) as error:
            problem = f"cannot be read as weights ({one_line(error) or 'too large'}); {DAMAGED}"
            raise MetadataError(f"{self.folder / WEIGHTS}: {problem}") from None

    def trainer(self) -> dict[str, Any]:
        """The state of the trainer, for resuming."""
        from io import BytesIO

        import torch

        path = self.folder / TRAINER
        if TRAINER not in self.files or not path.exists():
            raise MetadataError(f"{path}: missing, so this run cannot be resumed; train again with --overwrite")
        factor, spare = MAX_TRAINER_BYTES
        data = read_bounded(path, factor * self.files[WEIGHTS].bytes + spare)
        check_digest(path, data, self.files[TRAINER])
        try:
            with warnings.catch_warnings(action="ignore"):  # torch warns about damaged files before it raises
                state = torch.load(BytesIO(data), map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises many types of exceptions for a damaged file
            raise MetadataError(f"{path}: cannot be read ({type(error).__name__}); {DAMAGED}") from None
        if not isinstance(state, dict):
            raise MetadataError(f"{path}: does not contain the state of a trainer")
        return state


def build_model(checkpoint: Checkpoint) -> Any:
    """The model with its trained weights, in evaluation mode on the CPU.

    Raises MetadataError if settings and weights do not fit together, before the model takes much memory.
    """
    from induce.models.build import make_model
    from induce.storage import weights

    config, size, tensors = checkpoint.config, len(checkpoint.vocabulary), checkpoint.weights()
    with _fitting(checkpoint):
        model = weights.build_with(lambda: make_model(config, size), config.model, tensors)
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
        raise MetadataError(f"{checkpoint.folder}: {problem}") from None


def pack(
    model: Any, config: RunConfig, vocabulary: Vocabulary, facts: RunFacts, trainer: Mapping[str, Any] | None = None
) -> dict[str, bytes]:
    """The files of a checkpoint as bytes, so that a full disk is an OSError and nothing else."""
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
        **encode(facts),
        "torch": torch.__version__,
        "settings": config.as_dict(),
        "vocabulary_size": len(vocabulary),
    }
    return sealed(content, packed)


def sealed(content: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """``files`` and a checkpoint.json with ``content`` and their digests."""
    described = {name: encode(describe(data)) for name, data in files.items()}
    header = {"format": FORMAT.number, "synparse": VERSION}
    text = json_text(seal({**header, **content, "files": described}), indent=1) + "\n"
    return {**files, FACTS_FILE: text.encode("utf-8")}


def find(run: Path, names: tuple[str, ...] = CHECKPOINTS) -> Path:
    """The checkpoint folder of the model ``run``: its ``best``, else its ``last``, else ``run`` itself.

    A packed model is unpacked into a temporary folder, which exists until the program ends. Nothing else is written.
    Raises MetadataError if there is no model.
    """
    located = locate(run)
    if located.type in (PathType.PACKED, PathType.FILE):
        return unpack(located.path)
    for name in names:
        seal = run / name / FACTS_FILE
        has_files = seal.exists() or (run / name / WEIGHTS).exists()
        if whole(run / name):
            return run / name
        if has_files or seal.is_symlink():  # the other checkpoint is another model
            problem = "this link leads nowhere" if seal.is_symlink() else "missing or empty"
            raise MetadataError(f"{seal}: {problem}; repair it, or remove {run / name} to use the other model in {run}")
    if (run / FACTS_FILE).exists():
        return run
    raise MetadataError(_no_model(run, located.type, names))


def _no_model(run: Path, type_: PathType, names: tuple[str, ...]) -> str:
    """The message for a path without a model."""
    if type_ is PathType.ENSEMBLE:
        return f"{run}: this is an ensemble, which can only parse; name one of its members instead"
    if str(run).startswith(BASELINE):
        return f"{run}: a baseline is not a model; make it one with: synparse combine {run} -o FOLDER"
    if not run.is_dir():
        return f"{run}: there is no such model; train one with: synparse train -o {run}"
    models = sorted(path.name for path in run.iterdir() if any(whole(path / name) for name in names))
    if models:
        examples = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
        first = shlex.quote(str(run / models[0]))
        return f"{run}: this is a folder of models ({examples}); name one of them: -m {first}"
    if type_ is PathType.CORPUS:
        return f"{run}: this is {type_}; train a model on it with: synparse train {shlex.quote(str(run))} -o FOLDER"
    return f"{run}: this folder holds no model; train one with: synparse train -o {run}"


def read(folder: Path) -> Checkpoint:
    """The checkpoint in ``folder``, or next to it after a kill. Nothing is written.

    Raises MetadataError naming the file and the problem. If a training run replaces the folder in the meantime, all
    files are of the same version.
    """
    while True:
        path = whole(folder) or folder
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if whole(folder) or folder.exists():  # it was renamed
                continue
            raise MetadataError(f"{folder}: there is no such model") from None
        try:
            return _read_open(path, descriptor)
        except (OSError, SynparseError):  # files of a replaced folder are deleted
            if _is_current(folder, descriptor):
                raise
        finally:
            os.close(descriptor)


def _is_current(folder: Path, descriptor: int) -> bool:
    """Whether the open folder is still the newest version of ``folder``."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(whole(folder) or folder))
    except FileNotFoundError:
        return False


def _read_open(folder: Path, descriptor: int) -> Checkpoint:
    """The checkpoint in the open folder. All files are opened before the writer of a new version can delete them."""
    path = folder / FACTS_FILE
    content = read_sealed(path, FORMAT, folder=descriptor)
    weights = WeightsFile(folder / WEIGHTS, open_regular(folder / WEIGHTS, folder=descriptor))
    words = read_bounded(folder / VOCABULARY, MAX_VOCABULARY_BYTES, folder=descriptor)
    try:
        files = {name: decode(FileFacts, entry) for name, entry in dict(content.pop("files")).items()}
        if WEIGHTS not in files:
            raise KeyError(WEIGHTS)
        size, settings = content.pop("vocabulary_size"), content.pop("settings")
        version = abbreviate(content["synparse"]).strip("'\"")
        facts = decode(RunFacts, {key: value for key, value in content.items() if key not in HEADER})
        vocabulary = _vocabulary(folder / VOCABULARY, words, size, files[VOCABULARY])
        return Checkpoint(folder, RunConfig.from_dict(settings), vocabulary, facts, files, weights, version)
    except KeyError as error:
        raise MetadataError(f"{path}: {error} is missing; {DAMAGED}") from None
    except MetadataError:
        raise
    except UnknownNameError as error:
        raise MetadataError(f"{path}: {one_line(error)}; {UNKNOWN_HERE}") from None
    except (SynparseError, ValueError, TypeError) as error:
        raise MetadataError(f"{path}: {one_line(error)}; {DAMAGED}") from None


def check_digest(path: Path, data: bytes, expected: FileFacts, *, size: int | None = None) -> bytes:
    """``data`` if it is the content of the expected file. Raises MetadataError if size or digest differ."""
    size = len(data) if size is None else size
    if size != expected.bytes:
        raise MetadataError(f"{path}: has {size} bytes, and {expected.bytes} were saved; {DAMAGED}")
    if describe(data) != expected:
        raise MetadataError(f"{path}: differs from the saved file (its sha256 is another one); {DAMAGED}")
    return data


def _vocabulary(path: Path, data: bytes, size: Any, expected: FileFacts) -> Vocabulary:
    """The ``size`` words in the content of vocabulary.txt."""
    check_digest(path, data, expected)
    try:
        vocabulary = Vocabulary(data.decode("utf-8").removesuffix("\n").split("\n"))
    except ValueError as error:
        raise MetadataError(f"{path}: {error}; {DAMAGED}") from None
    if len(vocabulary) != size:
        raise MetadataError(f"{path}: has {len(vocabulary)} words, and {abbreviate(size)} were saved; {DAMAGED}")
    return vocabulary


def publish(run: Path, target: str, *, half: bool = False) -> str:
    """Write the best checkpoint of ``run`` to the file ``target`` and return the file's SHA-256.

    With ``half`` the numbers are stored in half precision, in about half the size. Raises SynparseError if one of them
    is too large for that.
    """
    folder = find(run)
    if not half:
        return write_packed(folder, target)
    with TemporaryDirectory() as temporary:
        save(Path(temporary) / "half", half_precision(read(folder)))
        return write_packed(Path(temporary) / "half", target)


def half_precision(checkpoint: Checkpoint) -> dict[str, bytes]:
    """The files of a checkpoint, with half precision instead of single precision."""
    from safetensors.torch import save as to_bytes

    from induce.storage.weights import halved

    folder = checkpoint.folder
    content = read_sealed(folder / FACTS_FILE, FORMAT)
    try:
        weights = to_bytes(halved(checkpoint.weights()))
    except ValueError as error:
        raise SynparseError(f"{folder}: {error}; pack the model as it is") from None
    return sealed(content, {VOCABULARY: (folder / VOCABULARY).read_bytes(), WEIGHTS: weights})
