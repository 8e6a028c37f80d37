"""A trained model on disk: a folder of plain files, read strictly, replaced as a whole.

``RUN/best`` and ``RUN/last`` each hold checkpoint.json, vocabulary.txt and weights.safetensors; ``last`` also holds
trainer.pt, which is read with ``weights_only=True``. Nothing here executes what a file says.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from induce.config import RunConfig
from induce.data.vocabulary import Vocabulary
from treebank.errors import SynparseError, placed
from treebank.version import VERSION

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
NOT_WHOLE = "this folder holds no whole model"
DAMAGED = "the file is damaged; copy the model again, or train anew"
TRAINER = "trainer.pt"


_SIZE = {"sentences": int, "words": int}
#: what checkpoint.json may say beside the settings -> its type ({key: type} for an object, [type] for a list)
FACTS: dict[str, Any] = {
    "synparse": str,
    "texts": [str],
    "development_texts": [str],
    "tokenize": bool,
    "trees": {
        "name": str,
        "note": str,
        "kind": str,
        "sentences": int,
    },  # of the treebank that a model also learned from
    "training": {**_SIZE, "sha256": str},
    "development": _SIZE,
    "epoch": int,
    "step": int,
    "seconds": float,
    "device": str,
    "threads": int,
    "products": [str],  # shapes of thin products and how they were computed
    "history": [{"epoch": int, "step": int, "development_perplexity": float, "best": bool}],
}


class CheckpointError(SynparseError):
    """A model folder that is missing, damaged or of another kind."""


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds, the weights aside."""

    folder: Path
    config: RunConfig
    vocabulary: Vocabulary
    facts: Mapping[str, Any]  # step, epoch, history, digests … as in checkpoint.json

    def weights(self) -> dict[str, Tensor]:
        """Parameter name -> tensor, on the CPU."""
        from safetensors import SafetensorError
        from safetensors.torch import load

        path = self.folder / "weights.safetensors"
        try:
            found = load(path.read_bytes())
        except FileNotFoundError:
            raise CheckpointError(f"{path}: missing; {NOT_WHOLE}") from None
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise CheckpointError(f"{path}: cannot be read as weights ({error}); {DAMAGED}") from None
        if not all(value.isfinite().all() for value in found.values()):
            raise CheckpointError(f"{path}: holds weights that are not numbers; {DAMAGED}")
        return found

    def fact(self, name: str) -> Any:
        """What checkpoint.json says under ``name``. Raises CheckpointError if it says nothing."""
        if name not in self.facts:
            raise CheckpointError(f"{self.folder / 'checkpoint.json'}: {name!r} is missing; {DAMAGED}")
        return self.facts[name]

    def trainer(self) -> dict[str, Any]:
        """The trainer's state, for --resume."""
        import torch

        path = self.folder / TRAINER
        if not path.exists():
            raise CheckpointError(f"{path}: missing, so this run cannot be resumed; train again with --overwrite")
        try:
            with warnings.catch_warnings(action="ignore"):  # about what a damaged file might be
                state = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises many kinds for a damaged file
            raise CheckpointError(f"{path}: cannot be read ({type(error).__name__}); {DAMAGED}") from None
        if not isinstance(state, dict):
            raise CheckpointError(f"{path}: does not hold a trainer's state")
        return state


def build_model(checkpoint: Checkpoint) -> Any:
    """The model with its trained weights, in evaluation mode on the CPU."""
    from induce.models.build import make_model

    config = checkpoint.config
    try:
        model = make_model(config, len(checkpoint.vocabulary))
        model.load_state_dict(checkpoint.weights(), strict=True)
    except (TypeError, ValueError, RuntimeError, SynparseError) as error:
        raise CheckpointError(f"{checkpoint.folder}: weights and settings do not fit together: {gist(error)}") from None
    return model.eval()


def gist(error: Exception) -> str:
    """What ``error`` says, in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + " …"


def save(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` as ``folder``: into a sibling folder first, so that an interruption leaves the old one whole."""
    new, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        for name, content in files.items():
            with placed(folder), (new / name).open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())  # or a power cut could keep the renaming and lose the content
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


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

    content = {
        "format": FORMAT,
        "synparse": VERSION,
        "torch": torch.__version__,
        "settings": config.as_dict(),
        "vocabulary_size": len(vocabulary),
        **facts,
    }
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    packed = {
        "checkpoint.json": (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"),
        "vocabulary.txt": ("\n".join(vocabulary.words) + "\n").encode("utf-8", "surrogatepass"),
        "weights.safetensors": to_bytes(tensors),
    }
    if trainer is not None:
        stream = BytesIO()
        torch.save(dict(trainer), stream)
        packed[TRAINER] = stream.getvalue()
    return packed


def recover(folder: Path) -> None:
    """Put back ``folder`` if a kill came between the two renames of ``save``.

    At that moment the new folder is complete, since it is renamed only then, and the old one is still there.
    """
    for name in (".new", ".old"):
        other = folder.with_name(folder.name + name)
        if not folder.exists() and (folder.with_name(folder.name + ".old")).exists() and other.exists():
            other.rename(folder)


def find(run: Path, which: tuple[str, ...] = ("best", "last")) -> Path:
    """The checkpoint folder of ``run``: its ``best``, else its ``last``, else ``run`` itself."""
    for name in which:
        recover(run / name)
        if (run / name / "checkpoint.json").exists():
            return run / name
    if (run / "checkpoint.json").exists():
        return run
    if run.is_dir():
        raise CheckpointError(f"{run}: this folder holds no model; train one with: synparse train -o {run}")
    raise CheckpointError(f"{run}: there is no such model; train one with: synparse train -o {run}")


def read(folder: Path) -> Checkpoint:
    """The checkpoint in ``folder``. Raises CheckpointError naming the file and what is wrong with it."""
    content = _content(folder / "checkpoint.json")
    vocabulary = _vocabulary(folder / "vocabulary.txt", content.get("vocabulary_size"))
    try:
        config = RunConfig.from_dict(content["settings"])
    except KeyError:
        raise CheckpointError(f"{folder / 'checkpoint.json'}: 'settings' is missing; {DAMAGED}") from None
    except SynparseError as error:
        raise CheckpointError(f"{folder / 'checkpoint.json'}: {error}; {DAMAGED}") from None
    return Checkpoint(folder, config, vocabulary, {key: value for key, value in content.items() if key != "settings"})


def _content(path: Path) -> dict[str, Any]:
    """The object in checkpoint.json, its format number and the types of its facts checked."""
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; {NOT_WHOLE}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not valid JSON ({error}); {DAMAGED}") from None
    if content.get("format") != FORMAT:
        raise CheckpointError(
            f"{path}: format {content.get('format')!r} is unknown to synparse {VERSION}, which reads format {FORMAT}; "
            f"it was written by synparse {content.get('synparse', '(unknown)')}"
        )
    for name, shape in FACTS.items():
        if name in content and not _fits(content[name], shape):
            raise CheckpointError(f"{path}: {name!r} cannot be {_shown(content[name])}; {DAMAGED}")
    return content


def _fits(value: Any, shape: Any) -> bool:
    """Whether ``value`` is of a type as ``FACTS`` describes it; an int may stand for a float."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and _fits(value[key], part) for key, part in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(part, shape[0]) for part in value)
    return type(value) is shape or (shape is float and type(value) is int)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"


def _vocabulary(path: Path, size: Any) -> Vocabulary:
    """The words in vocabulary.txt, ``size`` of them."""
    try:
        vocabulary = Vocabulary.load(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; {NOT_WHOLE}") from None
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; {DAMAGED}") from None
    if len(vocabulary) != size:
        raise CheckpointError(f"{path}: holds {len(vocabulary)} words, {_shown(size)} were saved; {DAMAGED}")
    return vocabulary
