"""PRPN's formulas against plain code: gates, the hand-written backward pass, ablations, carried state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.analysis.extraction import rows_of
from induce.data.batches import SentenceBatch, StreamBatch
from induce.layers.masks import dropped, dropped_at
from induce.models.base import detach
from induce.models.language.prpn import Prpn, PrpnConfig
from induce.models.language.prpn_kernel import attend
from induce.models.language.prpn_networks import LayerMasks, ReadingLayer, Tapes, gate_kind, gates
from induce.parsing.load import load_parser
from induce.settings.presets import load_preset
from induce.storage.checkpoint import Check
from tests.support.tiny import corpora, make_trainer, settings
from tests.support.twins import recurrences as plain
from treebank.base.errors import SynparseError


def tiny(**changes: Any) -> PrpnConfig:
    """A model of a few hundred weights, without dropout."""
    arguments = dict.fromkeys(("outer_dropout", "inner_dropout", "recurrent_dropout"), 0.0)
    sizes = {"embedding_size": 5, "hidden_size": 6, "slots": 4, "lookback": 2}
    return PrpnConfig(**{**arguments, **sizes, **changes})


def plain_layer(layer: ReadingLayer, x: Tensor, gate: Tensor, tapes: Tapes, masks: LayerMasks) -> list[Tensor]:
    """Equations 9 to 12 and the LSTM step, one after another, with the weights of ``layer``."""
    if layer.key is not None:
        return list(plain.prpn_layer(layer, x, gate, tapes, masks))
    h, c = tapes.h[:, 0], tapes.c[:, 0]
    hidden, (h_tape, c_tape) = [], tapes
    for t, step in enumerate(x):
        h, c = layer.cell(layer.cell.from_input(dropped_at(t, step, masks.input)), dropped(h, masks.recurrent), c)
        h_tape, c_tape = (torch.cat((new[:, None], old[:, :-1]), 1) for new, old in ((h, h_tape), (c, c_tape)))
        hidden.append(h)
    return [torch.stack(hidden), h_tape, c_tape]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 3, 4), (4, 2, 1), (3, 2, 6)])
@pytest.mark.parametrize(
    "settings", [{"attention": "masked"}, {"attention": "modulated"}, {"reading_attention": False}]
)
def test_a_reading_layer_equals_the_plain_loop(settings: Any, shape: tuple[int, ...], closed: bool) -> None:
    """Outputs and all gradients, those of gates and carried states included."""
    steps, batch, slots = shape
    torch.manual_seed(0)
    layer = ReadingLayer(tiny(slots=slots, **settings), 5).double()
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -1, 1)

    def drawn(*size: int) -> Tensor:
        return torch.randn(*size, dtype=torch.float64)

    x, gate, h, c = drawn(steps, batch, 5), drawn(steps, batch, slots).sigmoid(), *drawn(2, batch, slots, 6)
    if closed:
        gate[:, 0] *= 0
    leaves = [entry.requires_grad_() for entry in (x, gate, h.clone(), c.clone())]
    x, gate, h, c = leaves
    wide = [drawn(steps, batch, size) for size in (5, 6, 6, 5)]
    masks = LayerMasks(*wide[:3], input=wide[3], recurrent=drawn(6))
    expected = [*leaves, *layer.parameters()] if layer.key is not None else [x, h, c, *layer.parameters()]
    result = []
    for values in (plain_layer(layer, x, gate, Tapes(h, c), masks), layer(x, gate, Tapes(h, c), masks)):
        outputs = values if isinstance(values, list) else [values.hidden, *values.tapes]
        torch.manual_seed(1)
        total = torch.stack([(value * torch.randn_like(value)).sum() for value in outputs]).sum()
        result.append([*outputs, *torch.autograd.grad(total, expected)])
    close = {"rtol": 1e-9, "atol": 1e-11} if layer.key is not None else {"rtol": 1e-6, "atol": 1e-6}
    for got, want in zip(*result, strict=True):
        torch.testing.assert_close(got, want, **close)


def window(distances: Tensor, slots: int) -> Tensor:
    """Distances (B, T, S) of the words up to each, newest first, +inf before the start."""
    padded = torch.cat((distances.new_full((len(distances), slots - 1), math.inf), distances), 1)
    return padded.unfold(1, slots, 1).flip(-1)


def alpha(now: float, then: float, kind: str, resolution: float) -> float:
    """One factor of a gate, in plain numbers."""
    z = (now - then) / resolution
    if kind == "soft":
        return 1 / (1 + math.exp(-(10 * z + 5)))
    shifted = 2 * z + 1 if kind == "hard" else z  # paper: eq. 6 with tau = 1 / resolution
    return (max(-1.0, min(1.0, shifted)) + 1) / 2


@pytest.mark.parametrize("kind", ["hard", "soft", "paper"])
@pytest.mark.parametrize("reading", [True, False])
def test_gates_are_the_products_of_equation_5(kind: str, reading: bool) -> None:
    torch.manual_seed(0)
    steps, slots, resolution = 9, 4, 0.3
    distances, guesses = torch.rand(2, 1, steps, dtype=torch.float64)
    now = distances if reading else guesses
    result = gates(now, window(distances, slots), kind, resolution, reading=reading)
    for t in range(steps):
        for k in range(slots):
            i = t - 1 - k  # slot k holds the state of this time
            first = t if (kind != "paper" or not reading) else t - 1  # the program also compares d_t with itself
            past = range(i + 1, first + 1)
            want = 0.0
            if i >= -1:  # the zero state before the first word can be read; what is older cannot
                want = math.prod(alpha(float(now[0, t]), float(distances[0, j]), kind, resolution) for j in past)
            assert float(result[0, t, k]) == pytest.approx(want, abs=1e-12), (t, k)


def test_a_sharp_gate_opens_back_to_the_last_larger_distance() -> None:
    """Appendix C: the range of a word ends at the closest word with a larger distance, so that ranges never cross."""
    torch.manual_seed(1)
    steps = 12
    distances = torch.rand(1, steps, dtype=torch.float64)
    result = gates(distances, window(distances, steps), "paper", 1e-9, reading=True)
    values = distances[0].tolist()
    for t in range(steps):
        larger = max((i for i in range(t) if values[i] > values[t]), default=-1)
        want = [float(t - 1 - k >= larger) for k in range(steps) if t - 1 - k >= -1]
        assert result[0, t, : len(want)].tolist() == want


def test_the_papers_attention_is_a_softmax_before_the_gates() -> None:
    score, gate = torch.tensor([0.3, -1.0, 2.0]).double(), torch.tensor([1.0, 0.5, 0.0]).double()
    soft = score.exp() / score.exp().sum()
    torch.testing.assert_close(attend(score, gate, "modulated"), soft * gate / gate.sum(), rtol=1e-6, atol=0)
    torch.testing.assert_close(
        attend(score, gate, "masked"), score.exp() * gate / (score.exp() * gate).sum(), rtol=1e-6, atol=0
    )
    assert attend(score, torch.zeros(3).double(), "masked").tolist() == [0, 0, 0]


VARIANTS: list[dict[str, Any]] = [
    {},
    {"gate": "soft"},
    {"gate": "paper", "distance": "relu", "attention": "modulated"},
    {"residual_blocks": 2, "tied_embeddings": False},
    {"separate_guess": True},
    {"parsing_network": False},
    {"reading_attention": False},
    {"predict_attention": False},
    {"parsing_network": False, "reading_attention": False, "predict_attention": False},
    {"reading_layers": 3, "slots": 1, "lookback": 1},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_gradients_of_every_variant_agree_with_finite_differences(changes: dict[str, Any]) -> None:
    """Gradients of the model in evaluation mode, along one direction in the space of all parameters."""
    torch.manual_seed(3)
    model = Prpn(tiny(resolution=3.0, **changes), 9).double().eval()
    for name, parameter in model.named_parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
        assert parameter.numel(), name
    tokens, targets = torch.randint(9, (2, 6, 3))
    model.loss(StreamBatch(tokens, targets)).objective.backward()
    parameters = list(model.parameters())
    assert all(parameter.grad is not None for parameter in parameters)
    direction = [torch.randn_like(parameter) for parameter in parameters]
    slope = sum(float((parameter.grad * part).sum()) for parameter, part in zip(parameters, direction, strict=True))
    sides = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            for parameter, part in zip(parameters, direction, strict=True):
                parameter.add_(part, alpha=step)
            sides.append(float(model.loss(StreamBatch(tokens, targets)).nll))
    assert slope == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_two_segments_are_one(changes: dict[str, Any]) -> None:
    """State carried over, however short the segments: shorter than the look-back and the slots, too."""
    torch.manual_seed(0)
    model = Prpn(tiny(**changes), 9).double().eval()
    tokens, targets = torch.randint(9, (2, 12, 3))
    with torch.no_grad():
        whole = model.loss(StreamBatch(tokens, targets))
        for length in (1, 3, 7):
            total, state = 0.0, None
            for start in range(0, 12, length):
                part = model.loss(StreamBatch(tokens[start : start + length], targets[start : start + length]), state)
                total += float(part.nll) * len(tokens[start : start + length])
                state = detach(part.state)
            assert total / 12 == pytest.approx(float(whole.nll), abs=1e-9)


def test_without_a_parsing_network_every_slot_is_open() -> None:
    model = Prpn(tiny(parsing_network=False), 9).eval()
    result = model(torch.randint(9, (6, 1)), model.initial_state(1))
    for t in range(6):
        want = [float(k <= t) for k in range(4)]
        assert result.parsing.read_gate[0, t].tolist() == want
        assert result.parsing.predict_gate[0, t].tolist() == want


OFF = {
    "parsing": ["model.parsing_network=false"],
    "reading": ["model.reading_attention=false"],
    "predict": ["model.predict_attention=false"],
}


@pytest.mark.parametrize("row", [("parsing",), ("reading",), ("predict",), ("parsing", "reading", "predict")], ids=str)
def test_every_row_of_table_3_can_be_trained(row: tuple[str, ...], tmp_path: Path) -> None:
    """Each part left out, and the plain LSTM. Only models with a parsing network have trees."""
    changes = [change for part in row for change in OFF[part]]
    config = settings("prpn", "loader.name=stream", "loader.segment_length=12", "train.epochs=2", *changes)
    trainer = make_trainer(config, *corpora(config, 40), tmp_path / "run", device="cpu")
    checks = [event for event in trainer.train() if isinstance(event, Check)]
    assert checks[-1].development_loss < checks[0].development_loss
    parsed = load_parser(tmp_path / "run").parse([["the", "dog", "saw", "a", "cat"]])
    if "parsing" not in row:
        assert len(next(parsed)) == 5
    else:
        with pytest.raises(SynparseError, match="parsing_network = false, so it has no distances"):
            next(parsed)


def test_without_all_three_it_is_a_layer_normalised_lstm() -> None:
    """The last row of table 3: nothing is remembered but the last state."""
    torch.manual_seed(0)
    off = dict.fromkeys(("parsing_network", "reading_attention", "predict_attention"), False)
    model = Prpn(tiny(**off), 9).double().eval()
    tokens = torch.randint(9, (7, 2))
    x = model.embedding(tokens)
    for layer in model.reading:
        h = c = x.new_zeros(2, 6)
        result = []
        for step in layer.cell.from_input(x):
            h, c = layer.cell(step, h, c)
            result.append(h)
        x = torch.stack(result)
    got = model(tokens, model.initial_state(2))
    torch.testing.assert_close(got.reading[-1].hidden, x, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(got.output, model.predict.rows(x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "dropout", "batch", "beta1", "unit"),
    [
        ("prpn-char-ptb", (0, 0.25, 0.1), 64, 0.9, "character"),
        ("prpn-text8", (0.4, 0.2, 0.2), 128, 0.0, "word"),
    ],
)
def test_presets_hold_the_papers_values(
    name: str, dropout: tuple[float, ...], batch: int, beta1: float, unit: str
) -> None:
    """Sections 6.1 and 6.2: what differs between characters and text8."""
    preset = load_preset(name)
    sizes = {"embedding_size": 128, "hidden_size": 1024, "lookback": 10, "slots": 20, "residual_blocks": 1}
    rates = dict(zip(("outer_dropout", "inner_dropout", "recurrent_dropout"), dropout, strict=True))
    assert preset.model.items() >= {**sizes, **rates, "tied_embeddings": False}.items()
    assert vars(preset.loader).items() >= {"batch_size": batch, "segment_length": 100, "vary_segments": False}.items()
    rates = {"learning_rate": 0.003, "beta1": beta1, "epsilon": 1e-8, "weight_decay": 1e-6}
    assert vars(preset.optimizer).items() >= {**rates, "clip": 1.0, "decay": 0.1, "patience": 2}.items()
    assert (preset.data.token, preset.data.normalization, preset.loader_name) == (unit, "raw", "stream")


def test_masks_scale_what_they_keep() -> None:
    model = Prpn(tiny(outer_dropout=0.5, inner_dropout=0.2, recurrent_dropout=0.0), 10)
    masks = model.draw_masks(50, 40)
    assert masks.reading[0].recurrent is None
    outer, inner = (masks.predict.output, masks.reading[0].input), (masks.parsing.window, masks.reading[1].input)
    for mask, rate in [*((mask, 0.5) for mask in outer), *((mask, 0.2) for mask in inner)]:
        torch.testing.assert_close(mask.unique(), torch.tensor([0, 1 / (1 - rate)]))
        assert mask.mean().item() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_binary_gates_are_the_limit_of_small_resolutions(kind: str) -> None:
    """Distances that are farther apart than the resolution give 0 or 1 anyway. In training nothing changes."""
    draw = torch.Generator().manual_seed(2)
    now, window = torch.rand(3, 5, generator=draw), torch.rand(3, 5, 4, generator=draw)
    window[..., 0] = now  # the first factor of a word that reads compares its distance with itself
    binary = gates(now, window, "binary", 0.1, reading=True)
    assert set(binary.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(binary, gates(now, window, kind, 1e-6, reading=True), rtol=0, atol=0.01)
    config = PrpnConfig(embedding_size=6, hidden_size=8, slots=3, lookback=2, gate=kind, binary_test=True)
    assert gate_kind(config, training=True) == kind
    assert gate_kind(config, training=False) == "binary"


def test_memory_weights_follow_from_distances() -> None:
    """A gate is closed by the largest gap between a state and the word that looks back (eq. 5 and 6, as released)."""
    torch.manual_seed(7)
    model = Prpn(tiny(resolution=0.05), 9).eval()
    batch = SentenceBatch(torch.tensor([[2, 3, 4, 5, 6, 7], [8, 2, 3, 0, 0, 0]]), torch.tensor([6, 3]))
    with torch.no_grad():
        weights = model.memory_weights(batch)
        tokens = torch.tensor([0, 2, 3, 4, 5, 6, 7])
        words = torch.cat((torch.zeros(2, 1, 5), model.embedding(tokens)[:, None]))
        distances, guesses = (values[0].tolist() for values in model.parsing.distances(words))
        alone = model.memory_weights(SentenceBatch(batch.tokens[1:, :3], batch.lengths[1:]))

    def opening(now: float, other: float) -> float:
        return min(1.0, max(0.0, 1 + (now - other) / 0.05))

    for kind, looking in (("read_gates", distances), ("predict_gates", guesses)):
        for index, row in enumerate(rows_of(getattr(weights, kind)[0])):
            time = index + 1  # of the word; the boundary token has time 0, and the empty state before it time -1
            for state, gate in zip(range(-1, time), row, strict=True):
                factors = [opening(looking[time], distances[between]) for between in range(state + 1, time + 1)]
                expected = math.prod(factors) if time - state <= 4 else 0.0
                assert gate == pytest.approx(expected, abs=1e-5), (kind, index, state)
    assert weights.read_attention.shape == (2, 2, 6, 4)
    assert weights.read_attention.sum(-1) == pytest.approx(torch.ones(2, 2, 6))
    for values, expected in zip(weights, alone, strict=True):
        assert torch.allclose(values[1:, ..., :3, :], expected, atol=1e-6)


def test_guess_has_a_convolution_for_itself() -> None:
    """As in the notes of Stratos, section 3: no parameter of the distance contributes to the guess."""
    model = Prpn(tiny(separate_guess=True, inner_dropout=0.5), 9)
    masks = model.parsing.draw_masks(4, 2)
    words = torch.randn(6, 2, 5)
    distance, guess = model.parsing.distances(words, masks)
    guess.sum().backward(retain_graph=True)
    assert model.parsing.convolution.weight.grad is None
    assert float(model.parsing.guess.convolution.weight.grad.abs().sum()) > 0
    assert not torch.equal(masks.window, masks.guess.window)
    distance.sum().backward()
    assert model.parsing.projection.weight.grad.shape == (1, 6, 1)
