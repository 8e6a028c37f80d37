"""Commands that `bench.faults` kills, the files that they write, and the checks of these files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench import toys
from induce.storage.lock import NAME as LOCK
from treebank.base.atomic_write import PART

TIMES = ("seconds", "log_bytes")  # differ between any two trainings
PASSED_OVER = ("checkpoint.json", "trainer.pt", "log.jsonl", "synparse-shards.jsonl", LOCK)
OUTPUTS = (
    *("parse -m model text.txt", "extract -m model text.txt", "perplexity -m model text.txt --per word"),
    *("decode lines.jsonl", "convert trees.mrg --format spans", "analyze classes text.txt --classes 4"),
    "report -m model --gold trees.mrg --pictures 1",
)
PREPARED = [word if word != "text.txt" else "prepared" for word in toys.training("onlstm", resume=True)]
Digests = dict[str, str]


@dataclass
class Kind:
    """A command in a folder, and the results of killing it."""

    name: str
    arguments: Callable[[Path], list[str]]  # given the folder; empty if nothing is left to do
    outputs: Callable[[Path], Digests]  # digests of the files that it wrote, at the end
    whole: Callable[[Path], set[str]] = lambda folder: set()  # loadable outputs; raises for a damaged one
    operations: int = 0  # on files, in a call that is not killed
    seconds: float = 0.0
    expected: Digests = field(default_factory=dict)
    kills: int = 0
    rounds: int = 0
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def kinds() -> list[Kind]:
    """All commands to kill, for a folder with the files that `bench.faults.prepared` writes."""
    into = "parse -m model in --output-dir out --resume"
    vectors = "extract -m model text.txt --what vectors"
    voters = "combine model@layer=1 model@layer=2 baseline:right -o vote --overwrite"
    return [
        *map(_training, [*toys.SMALL, *toys.TASKS]),
        _plain("two seeds", f"{' '.join(toys.training('onlstm', resume=True))} --seeds 1,2", "run", whole=_runs_whole),
        _plain("parse into a folder", into, "out"),
        _plain("parse into JSON lines", f"{into} --format jsonl", "out"),
        _plain("parse heads into a folder", into.replace("model", "heads"), "out"),
        _plain("parse in shards", f"{into} --workers 2", "out"),
        Kind("combine", lambda folder: voters.split(), _votes, _vote_whole),
        Kind("combine with copies", lambda folder: f"{voters} --pack".split(), _votes, _vote_whole),
        Kind("train what is prepared", lambda folder: PREPARED, run_found, run_whole),
        _plain("pack", "pack -m model -o model.synparse", "model.synparse", whole=_is_written("model.synparse")),
        Kind("data prepare", _prepare, lambda folder: files(folder, "corpus"), _corpus_whole),
        *(
            _plain(f"{text.split()[0]} into a file", f"{text} -o out", "out", whole=_is_written("out"))
            for text in OUTPUTS
        ),
        _plain("draw", "draw trees.mrg -o out.svg", "out.svg", whole=_is_written("out.svg")),
        _plain("extract vectors", f"{vectors} -o out.jsonl", "out.jsonl", whole=_is_written("out.jsonl")),
        _plain("extract vectors as arrays", f"{vectors} -o out.npz", "out.npz", whole=_is_written("out.npz")),
    ]


def files(folder: Path, name: str) -> Digests:
    """Digest of every file in ``place`` , without locks, files with times, and temporary files left by a kill."""
    below, digests = folder / name, {}
    for path in [below] if below.is_file() else sorted(below.rglob("*")):
        if path.is_file() and path.name not in PASSED_OVER and not PART.search(path.name):
            digests[str(path.relative_to(folder))] = sha256(path.read_bytes()).hexdigest()
    return digests


def digest(value: Any) -> str:
    """Digest of nested lists, tables, tensors and numbers, without times."""
    if hasattr(value, "numpy"):
        value = sha256(value.detach().contiguous().numpy().tobytes()).hexdigest()
    elif isinstance(value, dict):
        value = [(key, digest(part)) for key, part in value.items() if key not in TIMES]
    elif isinstance(value, list | tuple):
        value = list(map(digest, value))
    return sha256(repr(value).encode()).hexdigest()


def _plain(name: str, text: str, output: str, **more: Any) -> Kind:
    return Kind(name, lambda folder: text.split(), lambda folder: files(folder, output), **more)


def _is_written(name: str) -> Callable[[Path], set[str]]:
    """Check whether a file exists and is not empty."""
    return lambda folder: {name} if (folder / name).exists() and (folder / name).stat().st_size else set()


def _training(model: str) -> Kind:
    def arguments(folder: Path) -> list[str]:
        from induce.storage.run_folder import resumable

        return toys.training(model, resume=model not in toys.TASKS or resumable(folder / "run"))

    return Kind(model, arguments, run_found, run_whole)


def run_found(folder: Path) -> Digests:
    """Digests of a training: weights, the state that resuming depends on, and the checks in its log."""
    import torch

    run = folder / "run"
    state = torch.load(run / "last/trainer.pt", weights_only=True)
    events = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    checks = [event["step"] for event in events if event["event"] == "check"]
    return {**files(folder, "run"), "state": digest(state), "checks": str(checks)}


def run_whole(folder: Path, run: str = "run") -> set[str]:
    """Existing checkpoints among ``best`` and ``last``. Raises if one cannot be loaded."""
    from induce.storage.checkpoint import build_model, read
    from induce.storage.folders import whole

    candidates = [folder / run / name for name in ("best", "last")]
    complete = [path for path in candidates if whole(path)]
    for path in complete:
        build_model(read(path))
    return {str(path.relative_to(folder)) for path in complete}


def _runs_whole(folder: Path) -> set[str]:
    return run_whole(folder, "run/seed-1") | run_whole(folder, "run/seed-2")


def _votes(folder: Path) -> Digests:
    """Digest of the members of an ensemble, without their paths."""
    description = json.loads((folder / "vote/ensemble.json").read_bytes())
    members = [{key: value for key, value in member.items() if key != "path"} for member in description["members"]]
    return {"members": digest(members)}


def _vote_whole(folder: Path) -> set[str]:
    from induce.parsing.load import load_parser

    if not (folder / "vote/ensemble.json").exists():
        return set()
    load_parser(str(folder / "vote"))
    return {"vote"}


def _prepare(folder: Path) -> list[str]:
    return [] if (folder / "corpus").exists() else ["data", "prepare", "text.txt", "-o", "corpus"]


def _corpus_whole(folder: Path) -> set[str]:
    from induce.data.prepared import PreparedCorpus

    if not (folder / "corpus").exists():
        return set()
    PreparedCorpus.read(folder / "corpus")
    return {"corpus"}
