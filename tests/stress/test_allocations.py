"""A training survives a failed allocation of memory, wherever it happens.

Each model is trained at the smallest size, without dropout. Every $SYNPARSE_EVERY-th allocation (default 97) fails in a
child process with torch's error for exhausted memory. Two outcomes are correct. Either the training is finished with
the same weights up to rounding: the batch was processed in parts. Or the process ends with one line of error, the
folder is unchanged, and it resumes to exactly the same weights.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from induce import registry
from induce.settings.presets import effective_settings, resolve
from induce.storage.checkpoint import build_model, read
from tests.stress.small_runs import digests_of_run, training, write_texts
from tests.support.calls import ENVIRONMENT
from tests.support.fork_server import Call
from tests.support.tiny import SETTINGS

EVERY = int(os.environ.get("SYNPARSE_EVERY", "97"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
PROGRAM = "from tests.stress.failing_allocations import main; main()"
#: batch statistics, or random numbers, differ in parts
BY_BATCH = ("prpn", "prpn-syd", "structformer", "cpcfg", "urnng", "diora", "s-diora")
COUNTED = ("segment-edges", "ccm", "dmv", "dmv-ccm")  # models without an optimizer
MODELS = [model for model in SETTINGS if not registry.MODELS.get(model).needs_teacher]


def arguments(model: str, *, resume: bool) -> list[str]:
    """Command that trains the smallest ``model`` without dropout."""
    names = effective_settings(resolve(model=model))
    still = [f"{name}=0" for name in names if name.startswith("model.") and name.endswith("dropout")]
    return training(model, *still, *([] if model in COUNTED else ["optimizer.name=sgd"]), resume=resume)


def call(warm: str, model: str, folder: Path, first: int, *, resume: bool = False) -> None:
    """Train in ``folder``, with failures from allocation ``first`` on."""
    with pytest.MonkeyPatch.context() as patch, open(folder.parent / "log", "wb") as log:
        patch.chdir(folder)
        program = [str(first), str(EVERY), *arguments(model, resume=resume)]
        streams = (0, log.fileno(), log.fileno())
        code = Call(warm, program, program=PROGRAM, streams=streams, environment=ENVIRONMENT).wait()
    assert code == 0, (folder.parent / "log").read_text()


def are_close(expected: Path, actual: Path) -> bool:
    """Whether the weights of two models are equal up to rounding. Counts by batch are not compared."""
    import torch

    models = [build_model(read(folder / "run/last")) for folder in (expected, actual)]
    pairs = zip(*(model.parameters() for model in models), strict=True)
    return all(torch.allclose(first, second, rtol=1e-3, atol=1e-4) for first, second in pairs)


@pytest.mark.parametrize("model", MODELS)
def test_failed_allocation_is_survived_or_reported(model: str, tmp_path: Path, warm: str) -> None:
    folder = tmp_path / "call"
    folder.mkdir()
    write_texts(folder, 14)
    call(warm, model, folder, random.Random(f"{SEED} {model}").randint(1, EVERY))
    ends = json.loads((tmp_path / "ends").read_text("utf-8"))["ends"]
    assert ends
    assert [end for end in ends if "problem" in end] == []
    finished = [Path(end["finished"]) for end in ends if "finished" in end]
    assert model in BY_BATCH or all(are_close(folder, other) for other in finished)
    expected = digests_of_run(folder)
    for state in sorted({end["reported"] for end in ends if "reported" in end}):
        call(warm, model, Path(state), 0, resume=True)
        assert digests_of_run(Path(state)) == expected
