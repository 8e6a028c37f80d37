"""A model that several processes train is the one that a single process trains."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import distributed

import induce.models.em.ccm
import induce.models.em.dmv
from induce.data.batches import SentenceBatch
from induce.distributed.process_group import Distributed, ProcessGroup
from induce.registry import model_class
from induce.settings.run import RunConfig
from induce.storage import checkpoint as store
from induce.training import loop
from induce.training.learners import Accumulating, join_group
from tests.support.calls import TINY, toy_text
from tests.support.fork_server import Call
from tests.support.tiny import assert_equal_weights, settings, trainer, weights
from treebank.base.errors import SynparseError

FORK = multiprocessing.get_context("fork")
Work = Callable[[ProcessGroup], None]
STEPS = 6
COUNTING = {
    "dmv": ["model.members=1", "model.short_passes=2", "model.middle_passes=1", "model.long_passes=0"],
    "ccm": ["model.passes=3"],
    "dmv-ccm": ["model.passes=3"],
}
OWN = {"ordered-memory": ["optimizer.learning_rate=0.001"]}  # a higher one lets Adam's weight decay magnify rounding
WHOLE_BATCH = [
    ("lstm", "loader.name=sentences"),  # activation penalties are means over padding, too
    ("structformer", "model.calibration=batch"),
    ("prpn", "train.epochs=1"),  # batch normalization
]


def _begin(work: Work, rank: int, size: int, store: Path) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        if size > 1:
            distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
        work(join_group())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def run_group(work: Work, size: int, folder: Path) -> list[int | None]:
    """Exit codes of ``size`` forks of this process that run ``work`` as one group, None for one that hangs."""
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])  # loads modules of torch once, before the fork
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / f"store-{len(list(folder.iterdir()))}"
    copies = [FORK.Process(target=_begin, args=(work, rank, size, store)) for rank in range(size)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join(300)
    codes = [copy.exitcode for copy in copies]
    for copy in copies:
        copy.kill()
    return codes


def without_dropout(model: str, *more: str) -> RunConfig:
    """Settings of a tiny run in which nothing is drawn at random but the batches."""
    names = [item.name for item in fields(model_class(model).Config) if item.name.endswith("dropout")]
    names = [name for name in names if name != "softmax_dropout"]  # without effect on a single softmax
    return settings(model, *(f"model.{name}=0" for name in names), "optimizer.learning_rate=0.01", *more)


def trained(models: list[str], folder: Path, group: ProcessGroup) -> None:
    """Train a tiny run of each of ``models`` for some steps, in float64, where rounding does not add up."""
    torch.set_default_dtype(torch.float64)
    induce.models.em.dmv.TABLE, induce.models.em.ccm.TABLE = 200, 20_000  # so that there are some blocks to share
    last = group.rank == group.size - 1  # the one that ends training, for all
    for name in models:
        run = trainer(
            without_dropout(name, "train.epochs=9", *{**COUNTING, **OWN}.get(name, [])), folder / name, group=group
        )
        run.run.model.double()
        for _ in run.train(stop=lambda at=run.run.position: last and at.step >= STEPS):
            pass
        assert name in COUNTING or run.run.position.step == STEPS


@pytest.mark.parametrize("name", ["onlstm", "ordered-memory"])
def test_gradient_of_parts_is_that_of_the_batch(name: str, tmp_path: Path) -> None:
    run = trainer(without_dropout(name), tmp_path / "run")
    model = run.run.model.double().eval()
    batches = [step.batch for step in islice(run.run.loader.steps(run.run.rng, 0), 5)]
    batch = max(batches, key=lambda batch: batch.token_count)
    whole = Accumulating().step(model, batch)
    expected = {key: parameter.grad.clone() for key, parameter in model.named_parameters()}
    model.zero_grad()
    loss = Accumulating()._accumulate(model, batch.parts(3))
    assert (loss.count, loss.weight) == (whole.count, whole.weight)
    assert float(loss.nll) == pytest.approx(float(whole.nll.detach()), abs=1e-12)
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[key], rtol=1e-9, atol=1e-12)


def test_one_two_and_four_processes_give_the_same_weights(tmp_path: Path) -> None:
    several = {2: ["onlstm", "ordered-memory", "dmv-ccm"], 4: ["structformer", "lstm", "npcfg", "udgn", "dmv", "ccm"]}
    for size, models in {1: [*several[2], *several[4]], **several}.items():
        assert run_group(partial(trained, models, tmp_path / str(size)), size, tmp_path / "stores") == [0] * size
    for size, models in several.items():
        for name in models:
            expected = weights(tmp_path / "1" / name)
            for key, value in weights(tmp_path / str(size) / name).items():
                if key not in ("growth", "edges"):  # a scale, in which no result is; means of counts over parts
                    torch.testing.assert_close(value, expected[key], rtol=1e-10, atol=1e-10, msg=f"{name} {key}")


@pytest.mark.parametrize(("name", "setting"), WHOLE_BATCH)
def test_models_with_whole_batch_statistics_are_refused(name: str, setting: str, tmp_path: Path) -> None:
    with pytest.raises(SynparseError, match="its loss needs statistics of the whole batch"):
        trainer(without_dropout(name, setting), tmp_path / "run", group=ProcessGroup(0, 2))


def test_first_process_takes_a_batch_of_fewer_sentences_than_processes() -> None:
    few = SentenceBatch(torch.tensor([[2, 3], [4, 0]]), torch.tensor([2, 1]))
    assert [Distributed(ProcessGroup(rank, 4), "float32").part_of(few) for rank in range(4)] == [few, None, None, None]
    first, second = (Distributed(ProcessGroup(rank, 2), "float32").part_of(few) for rank in range(2))
    assert (first.tokens.tolist(), second.tokens.tolist()) == ([[2, 3]], [[4, 0]])  # padding as in the whole


def killed_or_whole(folder: Path, deadly: int, resume: bool, group: ProcessGroup) -> None:
    """Train a tiny run with dropout, saved at each step. The last process is killed at the step ``deadly``."""
    loop.SAVE_SECONDS = 0.0
    run = trainer(settings("onlstm", "train.epochs=1"), folder, group=group, resume=resume)

    def stop() -> bool:
        if group.rank == group.size - 1 and run.run.position.step == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return run.run.position.step == 12

    try:
        for _ in run.train(stop=stop):
            pass
    except SynparseError as error:
        (folder / "told").write_text(str(error), "utf-8")
        raise


def test_killed_run_is_resumed_bit_by_bit(tmp_path: Path) -> None:
    stores, cut = tmp_path / "stores", tmp_path / "cut"
    assert run_group(partial(killed_or_whole, tmp_path / "whole", 0, False), 2, stores) == [0, 0]
    assert run_group(partial(killed_or_whole, cut, 7, False), 2, stores) == [1, -signal.SIGKILL]
    assert "process 0 of 2: the other processes do not answer (" in (cut / "told").read_text("utf-8")
    assert store.read(cut / "resume.safetensors").trainer()["position"]["step"] in (6, 7)
    assert run_group(partial(killed_or_whole, cut, 0, True), 2, stores) == [0, 0]
    assert_equal_weights(tmp_path / "whole", cut)


def torchrun(warm: str, arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Exit codes and what was written, by the program in two processes with the variables of ``torchrun``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    calls, files = [], [folder / "first", folder / "second"]
    for rank, path in enumerate(files):
        for name, value in {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}.items():
            monkeypatch.setenv(name, value)
        with path.open("w") as stream:
            calls.append(Call(warm, arguments, streams=(0, stream.fileno(), stream.fileno())))
    return [(call.wait(), path.read_text("utf-8")) for call, path in zip(calls, files, strict=True)]


def test_command_under_torchrun(tmp_path: Path, warm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, run = tmp_path / "a.txt", tmp_path / "run"
    text.write_text(toy_text(), encoding="utf-8")
    arguments = ["train", str(text), "-o", str(run), *TINY, "--set", "train.epochs=1", "--resume"]
    for beginning in ("nothing to resume, so training starts", "resuming at step"):  # the same call does both
        (first, messages), (second, silence) = torchrun(warm, arguments, tmp_path, monkeypatch)
        assert (first, second, silence) == (0, 0, "")
        assert beginning in messages
        assert "on cpu (2 processes)" in messages
        assert f"model folder: {run}" in messages
    assert store.read(run / "model.safetensors").facts.processes == 2
    for code, messages in torchrun(warm, ["train", "-", *arguments[2:]], tmp_path, monkeypatch):
        assert code == 1
        assert "standard input can be read by one process alone" in messages
