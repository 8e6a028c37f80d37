"""Models learn and parse on a device that is not the processor, with the results of the processor.

Three kinds stand for all, since each takes seconds: a recurrence by hand, charts, and masked sentences that are packed.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from induce.data.batches import SentenceBatch, pad
from induce.models.capabilities import SentenceScoring
from induce.parsing.model_parser import ModelParser
from induce.registry import model_class
from induce.storage import checkpoint as store
from tests.support.fake_device import DEVICE, Device
from tests.support.tiny import corpora, make_trainer, sentences, settings
from treebank.core.sentence import Sentence

STEPS = 2


def without_gradients(mode: bool = True) -> Any:
    return torch.no_grad() if mode else nullcontext()


def train(name: str, run: Path, device: str) -> None:
    config = settings(name)
    trainer = make_trainer(config, *corpora(config, 40), run, device=device)
    for _ in trainer.train(stop=lambda: trainer.run.position.step >= STEPS):
        pass


def analyses(parser: ModelParser, text: list[Sentence]) -> list[str]:
    """Trees or heads, and the log-probabilities of the sentences where there are some."""
    rows = [
        str(analysis) for analysis in (parser.parse(text) if parser.output == "trees" else parser.parse_heads(text))
    ]
    if isinstance(parser.model, SentenceScoring):
        batch = SentenceBatch(*pad([[2, 3, 4], [5, 3]])).to(parser.device)
        with torch.no_grad():
            rows += [f"{value:.5f}" for value in parser.model.eval().log_probability(batch).tolist()]
    return rows


@pytest.mark.parametrize("name", ["onlstm", "npcfg", "udgn"])
def test_all_is_where_it_belongs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "inference_mode", without_gradients)  # which tensors made in Python do not know
    train(name, tmp_path / "near", "cpu")
    with Device():
        train(name, tmp_path / "away", DEVICE)
    near, away = (store.read(tmp_path / run / "resume.safetensors") for run in ("near", "away"))
    losses = [weights.facts.history[-1].development_loss for weights in (near, away)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    if model_class(name).gives:
        text = sentences(8)
        expected = analyses(ModelParser(near, device="cpu"), text)
        with Device():
            assert analyses(ModelParser(near, device=DEVICE), text) == expected
