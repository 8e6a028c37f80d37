"""A batch for which there is not enough memory is taken in parts, with the loss and the gradient of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.progress import lines
from induce.data.batches import MaskedBatch
from induce.registry import MODELS, model_class
from induce.training.distributed import learn
from induce.training.events import Halved
from induce.training.loop import Trainer
from induce.training.microbatch import whole_or_parts
from induce.training.process_group import ProcessGroup
from tests.support.tiny import corpora, settings, trainer
from treebank.base.errors import SynparseError

MASKED = sorted(name for name in MODELS if MaskedBatch in model_class(name).reads)
WITH_MEMORY_OF_BATCHES = ["prpn", "prpn-syd", "npcfg", "cpcfg", "simple-pcfg"]  # they normalise or count batches


def torch_without_memory() -> Exception:
    """What torch raises on this CPU: for a petabyte, here."""
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
    """Let ``model`` fail on more than ``most`` sentences, after its forward pass; the sizes that it was asked for."""
    loss, asked = model.loss, []

    def failing(batch: MaskedBatch, state: Any = None) -> Any:
        asked.append(len(batch.tokens))
        result = loss(batch, state)
        if len(batch.tokens) > most:
            raise error
        return result

    monkeypatch.setattr(model, "loss", failing)
    return asked


@pytest.mark.parametrize("error", NO_MEMORY, ids=["cuda", "cpu", "windows", "python"])
@pytest.mark.parametrize("name", MASKED)
def test_the_gradient_is_that_of_the_whole(
    name: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = trainer(settings(name, "model.mask_rate=0.4"), tmp_path / "run")
    model = one.model.double().eval()  # no dropout
    batch = next(one.loader.steps(one.rng, 0)).batch
    sentences = len(batch.tokens)
    whole, parts = whole_or_parts(model, batch)
    assert parts == 1
    wanted = {key: parameter.grad.clone() for key, parameter in model.named_parameters()}
    asked = allow(model, sentences // 3, error, monkeypatch)
    loss, parts = whole_or_parts(model, batch)
    assert parts == 4
    assert asked[:2] == [sentences, -(-sentences // 2)]
    assert sum(asked[2:]) == sentences
    assert loss.count == whole.count
    assert float(loss.nll) == pytest.approx(float(whole.nll.detach()), abs=1e-12)
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[key], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", WITH_MEMORY_OF_BATCHES)
def test_only_what_looks_at_whole_batches_differs_in_parts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With batch normalisation by what was learned, and nothing counted, the gradient is that of the whole."""
    one = trainer(settings(name), tmp_path / "run")
    model, batch = one.model.double().eval(), next(one.loader.steps(one.rng, 0)).batch
    before = {key: value.clone() for key, value in model.state_dict().items()}
    whole, parts = whole_or_parts(model, batch)
    assert parts == 1
    wanted = {key: parameter.grad.clone() for key, parameter in model.named_parameters() if parameter.grad is not None}
    allow(model, len(batch.tokens) // 3, MemoryError(), monkeypatch)
    loss, parts = whole_or_parts(model, batch)
    assert parts == 4
    assert float(loss.nll) == pytest.approx(float(whole.nll.detach()), abs=1e-9)
    for key, parameter in model.named_parameters():
        if key in wanted:
            torch.testing.assert_close(parameter.grad, wanted[key], rtol=1e-7, atol=1e-9)
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key


@pytest.mark.parametrize("name", WITH_MEMORY_OF_BATCHES)
def test_nothing_is_left_of_an_attempt_that_failed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means of batches and counts are those of the parts by themselves."""
    one = trainer(settings(name), tmp_path / "run")
    model, batch = one.model.train(), next(one.loader.steps(one.rng, 0)).batch
    before = {key: value.clone() for key, value in model.state_dict().items()}
    drawn = model.loss

    def drawn_alike(*given: Any) -> Any:
        torch.manual_seed(1)
        return drawn(*given)

    monkeypatch.setattr(model, "loss", drawn_alike)
    for part in batch.parts(4):
        model.loss(part)
    by_themselves = {key: value.clone() for key, value in model.named_buffers()}
    model.load_state_dict(before)
    allow(model, len(batch.tokens) // 3, MemoryError(), monkeypatch)
    assert whole_or_parts(model, batch)[1] == 4
    for key, value in model.named_buffers():
        torch.testing.assert_close(value, by_themselves[key])
    for key, value in model.named_parameters():
        assert torch.equal(value, before[key]), key


def test_what_a_model_counts_is_that_of_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not also that of the attempts that failed."""
    one = trainer(settings("npcfg"), tmp_path / "run")
    model, batch = one.model.train(), next(one.loader.steps(one.rng, 0)).batch
    before = {name: value.clone() for name, value in model.named_buffers()}
    for part in batch.parts(4):
        model.loss(part)
    counted = {name: value.clone() for name, value in model.named_buffers()}
    assert int(counted["batches"]) == 4
    for name, value in model.named_buffers():
        value.copy_(before[name])
    allow(model, len(batch.tokens) // 3, MemoryError(), monkeypatch)
    assert whole_or_parts(model, batch)[1] == 4
    for name, value in model.named_buffers():
        torch.testing.assert_close(value, counted[name])


def test_other_errors_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = trainer(settings("transformer"), tmp_path / "run")
    allow(one.model, 0, RuntimeError("shapes do not fit"), monkeypatch)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        whole_or_parts(one.model, next(one.loader.steps(one.rng, 0)).batch)


def test_one_sentence_that_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = trainer(settings("transformer"), tmp_path / "run")
    allow(one.model, 0, MemoryError(), monkeypatch)
    with pytest.raises(SynparseError, match="memory ran out on a single sentence; the longest here has 6 words"):
        whole_or_parts(one.model, next(one.loader.steps(one.rng, 0)).batch)


def test_a_run_says_so_once_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings("transformer", "train.epochs=1")
    run = Trainer(config, *corpora(config), tmp_path / "run", device="cpu")
    allow(run.model, 19, MemoryError(), monkeypatch)
    events = list(run.train())
    halved = [event for event in events if isinstance(event, Halved)]
    assert halved == [Halved(1, 2)]
    assert lines(halved[0])[0].startswith("note: memory ran out at step 1, so its sentences were taken in 2 parts;")
    logged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line for line in logged if line["event"] == "halved"] == [{"event": "halved", "step": 1, "parts": 2}]


def test_enough_memory_changes_nothing(tmp_path: Path) -> None:
    """Dropout is drawn as the model does it by itself."""
    one = trainer(settings("udgn"), tmp_path / "run")
    batch = next(one.loader.steps(one.rng, 0)).batch
    torch.manual_seed(1)
    alone = one.model.loss(batch).objective
    torch.manual_seed(1)
    assert torch.equal(whole_or_parts(one.model, batch)[0].objective, alone)


def test_what_others_wait_for_is_not_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another attempt would meet them elsewhere in the model."""
    one = trainer(settings("structformer", "model.calibration=batch"), tmp_path / "run")
    asked = allow(one.model, 0, MemoryError(), monkeypatch)
    monkeypatch.setattr(ProcessGroup, "add", lambda group, values: None)
    monkeypatch.setattr(ProcessGroup, "largest", lambda group, *values: list(values))
    with pytest.raises(SynparseError, match="memory ran out on this process's part of a batch"):
        learn(ProcessGroup(0, 2), one.model, next(one.loader.steps(one.rng, 0)).batch, None, key=(1,))
    assert len(asked) == 1
