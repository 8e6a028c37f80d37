"""Contract of all registered models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from induce.data.corpus import read_corpora
from induce.decoding.specification import decoders_of
from induce.models.base import Context, FittedModel, make_model
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.parsing.reading import Reading
from induce.registry import LOADERS, MODELS, default_preset, model_class
from induce.settings.presets import changed, load_preset, preset_names
from induce.settings.run import RunConfig, model_settings
from induce.storage import checkpoint
from induce.storage.checkpoint import Check
from induce.structures import Brackets, HeadDistribution, Heads, RankedHeads, RankedTrees, SpanScores, Structure
from induce.training.events import Event, Progress
from induce.training.state import save_last
from tests.support.tiny import (
    assert_equal_weights,
    make_trainer,
    sentences,
    settings,
    stop_after,
    teacher_of,
    trainer,
    with_trees,
)
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

MODEL_NAMES = sorted(MODELS)
TEXT = 100  # sentences
LONGER = {"cpcfg": 200}  # sentences, because the best trees are tied after 100
EPOCHS = {"udgn": 4, "ndmv-sibling": 4, "s-diora": 4}  # because the loss does not decrease enough in 2 epochs
#: offsets of factors over which a softmax normalizes
SIBLING_OFFSETS = {"attach_factors.maps.1.bias", "decision_factors.maps.2.bias", "root_factors.maps.1.bias"}
LEXICAL_OFFSETS = {"attach_factors.maps.1.bias", "decision_factors.maps.1.bias", "root_factors.maps.1.bias"}
#: weights without gradient, as offsets that cancel; the margin of StructFormer cancels those of distances or heights
FREE = {
    **{name: {"inference.norm.bias", "inference.score.bias"} for name in ("rnng", "urnng")},
    "s-diora": {"outside.score.weight"},  # selects contexts only
    "structformer": {"parser.distance.bias", "parser.height.bias"},
    "ndmv-sibling": {f"rules.{name}" for name in SIBLING_OFFSETS},
    "ndmv-lexical": {f"rules.{name}" for name in LEXICAL_OFFSETS},
    "ndmv-joint": {f"sibling.{name}" for name in SIBLING_OFFSETS} | {f"lexical.{name}" for name in LEXICAL_OFFSETS},
}
CHARTS = {  # models whose parsing takes cubic time or longer
    *("dmv", "segment-edges", "ccm", "dmv-ccm", "diora", "npcfg", "cpcfg", "simple-pcfg", "tn-pcfg", "nl-pcfg"),
    *("s-diora", "nbl-pcfg", "ndmv", "ndmv-sibling", "ndmv-lexical", "ndmv-joint"),
}
DECODED = (Brackets, Heads)  # structures without numbers that could be close
pytestmark = pytest.mark.parametrize("name", MODEL_NAMES, scope="module")


@pytest.fixture
def parses(name: str) -> None:
    """Skip the test if the model predicts no structure."""
    if not model_class(name).gives:
        pytest.skip(f"{name} gives no trees")


def short(name: str, *more: str) -> RunConfig:
    """Settings of a short training run."""
    return settings(name, f"train.epochs={EPOCHS.get(name, 2)}", *more)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, list[Event]]]:
    """Function from a model and a loader to the folder and events of a complete run, cached for all tests."""
    folder = tmp_path_factory.mktemp("learned")

    @cache
    def run(name: str, reading: str) -> tuple[Path, list[Event]]:
        run_folder = folder / name / reading
        config = short(name, f"loader.name={reading}")
        return run_folder, list(trainer(config, run_folder, count=LONGER.get(name, TEXT)).train())

    return run


@pytest.fixture
def run(name: str, learned: Callable[[str, str], tuple[Path, list[Event]]]) -> Path:
    """Folder of a complete run with the default loader, which tests do not change."""
    return learned(name, short(name).loader_name)[0]


def parsed(parser: ModelParser, words: Sequence[Sequence[str]]) -> Iterator[Any]:
    """Trees, or words and heads, predicted by ``parser``."""
    return parser.parse(words) if parser.output == "trees" else parser.parse_heads(words)


def parsers(run: Path) -> list[ModelParser]:
    """Parsers for all structures that the model predicts, the default structure first."""
    default = load_parser(run)
    others = [structure for structure in default.gives if structure is not default.structure]
    return [default, *(load_parser(run, decoder=decoders_of((structure,))[0]) for structure in others)]


def numbers(reading: Reading) -> np.ndarray:
    """Row of a structure as an array, or the scores of its trees."""
    return np.asarray(scores(reading.structure, reading.row))


def scores(structure: type[Structure], row: Any) -> Any:
    """The scores of ranked trees, or the row of another structure."""
    return [score for score, _ in row] if structure in (RankedHeads, RankedTrees) else row


def readings(name: str) -> list[str]:
    """Names of the loaders whose batches the model can learn from."""
    reads = set(model_class(name).reads)
    return [reading for reading, entry in LOADERS.items() if reads & set(entry.batches)]


@cache
def presets_of_text() -> list[RunConfig]:
    """All presets, except those of tasks."""
    return [preset for preset in map(load_preset, preset_names()) if not preset.purpose_name]


def test_presets_name_every_setting_of_the_model(name: str) -> None:
    expected = {field.name for field in fields(model_class(name).Config)}
    of_model = [preset for preset in presets_of_text() if preset.model_name == name]
    assert default_preset(name) in [preset.preset for preset in of_model]
    for preset in of_model:
        assert set(preset.model) == expected, preset.preset
        model_settings(model_class(name).Config, preset.model, name)


def test_no_weight_has_two_names(name: str) -> None:
    """Weights with two names cannot be saved. Each choice of each setting is tried."""
    config = settings(name)
    flags = [(field.name, "true") for field in fields(model_class(name).Config) if field.default is False]
    named = [(field.name, choice) for field in fields(model_class(name).Config) for choice in field.metadata["choices"]]
    for key, choice in [*named, *flags, ("seed", "1")]:
        table = "train" if key == "seed" else "model"
        with suppress(SynparseError):  # a setting without an effect, or that does not fit the others
            model = make_model(changed(config, [f"{table}.{key}={choice}"]), 50)
            weights = model.state_dict(keep_vars=True).values()
            assert len({id(value) for value in weights}) == len(weights), choice


def test_loss_decreases_on_every_loader(name: str, learned: Callable[[str, str], tuple[Path, list[Event]]]) -> None:
    """Fitted models are scored once, at the end, all others by their checks."""
    for reading in readings(name):
        events = learned(name, reading)[1]
        if issubclass(model_class(name), FittedModel):  # one score on the development set, at the end
            losses = [event.loss for event in events if isinstance(event, Progress)]
            assert losses[:4][-1] < losses[0], reading  # passes of the first member over one text
            continue
        checks = [event for event in events if isinstance(event, Check)]
        assert checks[-1].development_loss < checks[0].development_loss - 0.1, reading


def test_gradients_reach_all_parameters(name: str, tmp_path: Path) -> None:
    """Gradients are not zero in evaluation mode. In training, those of a bias before batch normalization vanish.

    In double precision, the noise of a gradient that is zero is far below all others.
    """
    if issubclass(model_class(name), FittedModel):
        assert not list(trainer(settings(name), tmp_path / "run").run.model.parameters())
        return
    for reading in readings(name):
        item = trainer(settings(name, f"loader.name={reading}"), tmp_path / "run")
        batch = next(item.run.loader.steps(item.run.rng, 0)).batch
        item.run.model.double()
        for training in (True, False):
            item.run.model.train(training).zero_grad()
            item.run.model.loss(batch).objective.backward()
            for parameter_name, parameter in item.run.model.named_parameters():
                assert parameter.grad is not None, parameter_name
                free = training or parameter_name in FREE.get(name, ())
                assert free or parameter.grad.abs().sum() > 1e-10, parameter_name


@pytest.mark.usefixtures("parses")
def test_trees_do_not_depend_on_padding_and_order(name: str, run: Path) -> None:
    texts = [list(sentence.words) for sentence in sentences(8)]
    # of one, two and three sentences; trees of one sentence several times can have the same score
    words = [list(chain.from_iterable(texts[i : i + k])) for i, k in enumerate([1, 2, 3] * 2)]
    for parser in parsers(run):
        if parser.structure in DECODED:
            parser.model.double()  # in single precision, trees of an untrained model can have the same score
        prepared = [parser.recipe(sentence) for sentence in words]
        encoded = [(parser.checkpoint.vocabulary.encode(item.forms), item.indices) for item in prepared]
        with torch.inference_mode():
            batched = parser.structure_of(parser.batch(encoded)).rows()
            for row, sentence in zip(batched, encoded, strict=True):
                alone = parser.structure_of(parser.batch([sentence])).rows()[0]
                if parser.structure in DECODED:
                    assert row == alone
                else:
                    pair = (torch.tensor(scores(parser.structure, part)) for part in (row, alone))
                    torch.testing.assert_close(*pair, rtol=1.3e-6, atol=1e-5)
        trees = list(parsed(parser, words))
        assert list(parsed(parser, words[::-1])) == trees[::-1]


@pytest.mark.usefixtures("parses")
def test_trees_do_not_depend_on_the_number_of_threads(name: str, run: Path) -> None:
    longest = 2 if name in CHARTS else 13
    words = [sentence.words * (1 + 3 * k % longest) for k, sentence in enumerate(sentences(longest // 3 + 8))]
    before = torch.get_num_threads()
    for parser in parsers(run):
        result = []
        try:
            for threads in (1, 2):
                torch.set_num_threads(threads)
                result.append([numbers(reading) for reading in parser.predict(words)])
                assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        for item, other in zip(*result, strict=True):
            if parser.structure in DECODED:
                assert item.tolist() == other.tolist()
                continue
            np.testing.assert_allclose(other, item, rtol=1e-6, atol=1e-5)


@pytest.mark.usefixtures("parses")
def test_saved_and_loaded_model_predicts_the_same_trees(run: Path, tmp_path: Path) -> None:
    words = [sentence.words for sentence in sentences(20, seed=2)]
    before = [list(parsed(parser, words)) for parser in parsers(run)]
    result = checkpoint.read(run / "model.safetensors")
    model = checkpoint.build_model(result)
    checkpoint.save(tmp_path / "copy", checkpoint.pack(model, result.config, result.vocabulary, result.facts))
    assert [list(parsed(parser, words)) for parser in parsers(tmp_path / "copy")] == before


MARKED = ["the", "(", "big", "-", "dog", ")", ",", "they", "say", ",", "met", "a", "cat", "."]


def recorded_structures(parser: ModelParser, monkeypatch: pytest.MonkeyPatch) -> list[Structure]:
    """List to which every structure that the model predicts is added."""
    structures: list[Structure] = []
    structure_of = parser.model.structure

    def recorded(*arguments: Any) -> Structure:
        structures.append(structure_of(*arguments))
        return structures[-1]

    monkeypatch.setattr(parser.model, "structure", recorded)
    return structures


@pytest.mark.usefixtures("parses")
def test_probabilities_are_valid_with_punctuation_and_brackets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random weights, and sentences with punctuation, brackets and joined words, under the default priors."""
    run = trainer(short(name), tmp_path / "run").run
    run.model.prepare(run.corpus, Context())
    run.position.step = 1
    save_last(run)
    words = [MARKED, MARKED[:5], MARKED * 2, ["dog"]]
    for parser in parsers(tmp_path / "run"):
        parser.joining = frozenset("-")
        structures = recorded_structures(parser, monkeypatch)
        readings = list(parser.predict(words))
        if parser.structure not in (SpanScores, HeadDistribution):
            continue
        (are_probabilities,) = {structure.probabilities for structure in structures}
        if not are_probabilities:
            continue
        for reading in readings[:3]:
            row = numbers(reading)
            assert row.min() >= 0
            assert row.max() <= 1 + 1e-9
            if parser.structure is HeadDistribution:
                assert row.sum(1).max() <= 1 + 1e-4
            elif "spans" not in short(name).loader_name:  # a chart parser scores each span separately
                count = len(row)
                total = sum(row[i, j] for i in range(count) for j in range(i + 2, count + 1))
                assert total == pytest.approx(count - 1, rel=1e-3)


def test_parser_of_a_model_without_trees_raises_an_error(name: str, run: Path) -> None:
    if model_class(name).gives:
        pytest.skip("this model gives trees")
    with pytest.raises(SynparseError, match=f"model '{name}' gives no trees; score it with"):
        load_parser(run)


def test_resumed_run_equals_uninterrupted_run(
    name: str, tmp_path: Path, learned: Callable[[str, str], tuple[Path, list[Event]]]
) -> None:
    for reading in readings(name):
        whole, events = learned(name, reading)
        finished = events[-1]
        config, cut = short(name, f"loader.name={reading}"), tmp_path / reading
        stop = stop_after(min(3, finished.step - 2))
        list(trainer(config, cut, count=LONGER.get(name, TEXT)).train(stop=stop))
        started, *_ = trainer(config, cut, count=LONGER.get(name, TEXT), resume=True).train()
        assert 0 < started.resumed_at < finished.step
        assert_equal_weights(whole, cut)


def test_unsupported_loader_raises_an_error(name: str, tmp_path: Path) -> None:
    reads = readings(name)
    for reading in {"stream", "sentences", "masked"}.difference(reads):
        with pytest.raises(SynparseError, match=f"model '{name}' reads {' or '.join(reads)}, not {reading}"):
            trainer(settings(name, f"loader.name={reading}"), tmp_path / "run")


def test_gold_trees_change_weights_only_if_the_model_learns_trees(name: str, tmp_path: Path) -> None:
    """Weights after training on plain sentences, and on sentences with wrong trees, tags and heads."""
    plain = sentences(TEXT // 2)
    nonsense = [
        replace(
            item, tree=Tree.from_spans(item.words, [(0, 3), (1, 2 + k % 2)]), tags=("NN",) * len(item.words), heads=(0,)
        )
        for k, item in enumerate(plain)
    ]
    if MODELS.get(name).learns_trees:  # compare correct trees with wrong ones
        plain = with_trees(plain)
    weights = [_weights(name, tmp_path / str(k), text) for k, text in enumerate((plain, nonsense))]
    same = [torch.equal(value, weights[1][key]) for key, value in weights[0].items()]
    assert all(same) != MODELS.get(name).learns_trees


def _weights(name: str, run: Path, text: list[Sentence]) -> dict[str, torch.Tensor]:
    config = settings(name, "train.epochs=1")
    share, learns = config.data.development_share, MODELS.get(name).learns_trees
    teacher = teacher_of(name)
    corpora = read_corpora(
        text, config.data.normalization, development_share=share, with_trees=learns, references=teacher
    )
    for _ in make_trainer(config, *corpora, run, device="cpu").train():
        pass
    return checkpoint.read(run / "resume.safetensors").weights()
