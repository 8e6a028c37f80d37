"""A batch that exceeds the memory is split, with the loss and the gradient of the whole batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.training_progress import event_lines
from induce.data.batches import MaskedBatch
from induce.registry import MODELS, model_class
from induce.training.events import Halved
from induce.training.learners import Accumulating
from tests.support.tiny import corpora, make_trainer, settings, trainer
from treebank.base.errors import SynparseError

MASKED = sorted(name for name in MODELS if MaskedBatch in model_class(name).reads)
WITH_BATCH_STATISTICS = ["prpn", "prpn-syd", "npcfg", "cpcfg", "simple-pcfg", "tn-pcfg"]  # batch norm, or counts
SPLIT = [*MASKED, *WITH_BATCH_STATISTICS]


def torch_without_memory() -> Exception:
    """The error of torch on this CPU for a request of a petabyte."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 48)
    return caught.value


NO_MEMORY = [
    torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"),
    torch_without_memory(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: not enough memory: you tried to allocate"),
    MemoryError(),
]


def allow(model: Any, most: int, error: Exception, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let ``model`` fail on more than ``most`` sentences. Returns the list of requested sizes."""
    loss, sizes = model.loss, []

    def failing(batch: MaskedBatch, state: Any = None) -> Any:
        sizes.append(len(batch.tokens))
        result = loss(batch, state)
        if len(batch.tokens) > most:
            raise error
        return result

    monkeypatch.setattr(model, "loss", failing)
    return sizes


@pytest.mark.parametrize(
    ("name", "error"),
    [*(("transformer", error) for error in NO_MEMORY[:-1]), *((name, NO_MEMORY[-1]) for name in SPLIT)],
    ids=["cuda", "cpu", "windows", *SPLIT],
)
def test_gradient_of_parts_is_that_of_the_batch(
    name: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout, and with the batch statistics of evaluation, in which nothing is counted."""
    run = trainer(settings(name, *(["model.mask_rate=0.4"] if name in MASKED else [])), tmp_path / "run")
    model, batch = run.run.model.double().eval(), next(run.run.loader.steps(run.run.rng, 0)).batch
    before = {key: value.clone() for key, value in model.state_dict().items()}
    strategy, sentences = Accumulating(), len(batch.tokens)
    whole = strategy.step(model, batch)
    assert strategy.parts == 1
    expected = {key: None if part.grad is None else part.grad.clone() for key, part in model.named_parameters()}
    sizes = allow(model, sentences // 3, error, monkeypatch)
    loss = strategy.step(model, batch)
    assert strategy.parts == 4
    assert sizes[:2] == [sentences, -(-sentences // 2)]
    assert sum(sizes[2:]) == sentences
    assert loss.count == whole.count
    assert float(loss.nll) == pytest.approx(float(whole.nll.detach()), abs=1e-12)
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[key], rtol=1e-9, atol=1e-12)
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key


@pytest.mark.parametrize("name", WITH_BATCH_STATISTICS)
def test_buffers_after_a_failed_attempt_are_those_of_the_parts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means of batches and counts are those of the parts by themselves."""
    run = trainer(settings(name), tmp_path / "run")
    model, batch = run.run.model.train(), next(run.run.loader.steps(run.run.rng, 0)).batch
    before = {key: value.clone() for key, value in model.state_dict().items()}
    drawn = model.loss

    def drawn_alike(*arguments: Any) -> Any:
        torch.manual_seed(1)
        return drawn(*arguments)

    monkeypatch.setattr(model, "loss", drawn_alike)
    for part in batch.parts(4):
        model.loss(part)
    by_themselves = {key: value.clone() for key, value in model.named_buffers()}
    model.load_state_dict(before)
    allow(model, len(batch.tokens) // 3, MemoryError(), monkeypatch)
    strategy = Accumulating()
    strategy.step(model, batch)
    assert strategy.parts == 4
    for key, value in model.named_buffers():
        torch.testing.assert_close(value, by_themselves[key])
    for key, value in model.named_parameters():
        assert torch.equal(value, before[key]), key


def test_other_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(settings("transformer"), tmp_path / "run")
    allow(run.run.model, 0, RuntimeError("shapes do not fit"), monkeypatch)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        Accumulating().step(run.run.model, next(run.run.loader.steps(run.run.rng, 0)).batch)


def test_single_sentence_beyond_the_memory_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(settings("transformer"), tmp_path / "run")
    allow(run.run.model, 0, MemoryError(), monkeypatch)
    with pytest.raises(SynparseError, match="on a single sentence; the longest of this batch has 6 words"):
        Accumulating().step(run.run.model, next(run.run.loader.steps(run.run.rng, 0)).batch)


def test_run_reports_the_split_once_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings("transformer", "train.epochs=1")
    run = make_trainer(config, *corpora(config), tmp_path / "run", device="cpu")
    allow(run.run.model, 19, MemoryError(), monkeypatch)
    events = list(run.train())
    halved = [event for event in events if isinstance(event, Halved)]
    assert halved == [Halved(1, 2)]
    assert event_lines(halved[0])[0].startswith("note: out of memory at step 1; the batch was split into 2 parts;")
    logged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line for line in logged if line["event"] == "halved"] == [{"event": "halved", "step": 1, "parts": 2}]


def test_enough_memory_changes_no_random_number(tmp_path: Path) -> None:
    """Dropout is drawn as the model does it by itself."""
    run = trainer(settings("udgn"), tmp_path / "run")
    batch = next(run.run.loader.steps(run.run.rng, 0)).batch
    torch.manual_seed(1)
    alone = run.run.model.loss(batch).objective
    torch.manual_seed(1)
    assert torch.equal(Accumulating().step(run.run.model, batch).objective, alone)
