"""The distilled parsers in NumPy: the scores, trees and heads of the models in torch, without loading torch."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch
from induce.models.base import Query
from induce.models.distilled.array_student import ArrayBiaffine, ArrayChart, BiaffineConfig, ChartConfig
from induce.models.distilled.student import Biaffine, ChartParser
from induce.parsing.load import load_parser, read_trained
from induce.parsing.model_parser import ArrayParser, ModelParser
from induce.structures import HeadDistribution, SpanScores
from tests.support import tiny
from tests.support.reference import ROOT
from treebank.base.errors import SynparseError

TYPES = 30
SETTINGS = [{}, {"layers": 2}, {"endings": False}]


def both(name: str, **settings: Any) -> tuple[Any, Any]:
    """A model with random weights in torch, and the same model in NumPy."""
    torch.manual_seed(0)
    sizes = {"embedding_size": 8, "hidden_size": 6} | settings
    if name == "chart":
        model: Any = ChartParser(ChartConfig(span_size=5, **sizes), TYPES).eval()
        torch.nn.init.normal_(model.width)
    else:
        model = Biaffine(BiaffineConfig(arc_size=5, **sizes), TYPES).eval()
        torch.nn.init.normal_(model.distance)
    model.reader.ending.random_(0, 4096)
    arrays = {key: value.numpy() for key, value in model.state_dict().items()}
    kind = ArrayChart if name == "chart" else ArrayBiaffine
    return model, kind(model.config, TYPES, arrays)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("name", "structure"), [("chart", SpanScores), ("biaffine", HeadDistribution)])
def test_scores_are_those_of_the_model_in_torch(name: str, structure: Any, settings: dict[str, Any]) -> None:
    model, in_arrays = both(name, **settings)
    lengths, draw = np.array([3, 50, 2, 7, 7, 1][: 5 + (name == "biaffine")]), np.random.RandomState(1)
    shape = (len(lengths), 50)
    tokens, gaps = draw.randint(1, TYPES, shape), draw.randint(0, 18, shape).astype(np.uint8)
    tokens[np.arange(50) >= lengths[:, None]] = 0
    parts = [torch.from_numpy(values) for values in (tokens, lengths, gaps)]
    with torch.inference_mode():
        expected = model.structure(FragmentBatch(*parts), Query(structure)).rows()
    rows = in_arrays.structure(FragmentBatch(tokens, lengths, gaps)).rows()
    for row, other in zip(rows, expected, strict=True):
        assert row.shape == other.shape
        np.testing.assert_allclose(row, other, rtol=1e-4, atol=1e-6)


def test_weights_that_do_not_fit_the_settings_are_refused() -> None:
    model, _ = both("chart")
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    bad_endings = {**arrays, "reader.ending": arrays["reader.ending"] - 5000}
    for config, weights, problem in (
        (replace(model.config, hidden_size=7), arrays, "need the shape"),
        (replace(model.config, endings=False), arrays, "superfluous: reader.endings.0.weight"),
        (replace(model.config, layers=10**9), arrays, "out of proportion"),
        (model.config, bad_endings, "whole numbers from 0 to 4095"),
    ):
        with pytest.raises(ValueError, match=problem):
            ArrayChart(config, TYPES, weights)


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chart parser of the toy language."""
    folder = tmp_path_factory.mktemp("chart")
    tiny.train(tiny.settings("chart", "train.epochs=2", "parse.priors=brackets:1,joining-marks:1"), folder)
    return folder


@pytest.fixture(scope="module", params=["chart", "biaffine"])
def student(chart: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each student of the toy language."""
    if request.param == "chart":
        return chart
    folder = tmp_path_factory.mktemp("biaffine")
    tiny.train(tiny.settings("biaffine", "train.epochs=2"), folder)
    return folder


def test_structures_are_those_of_the_model_in_torch(student: Path) -> None:
    draw = random.Random(1)
    words = ["the", "The", "dog", "cat", "saw", "zorked", "12", "big", ",", "(", ")", "-", "."]
    text = [draw.choices(words, k=draw.randint(0, 40)) for _ in range(300)]
    parser = load_parser(student, device="cpu")
    assert isinstance(parser, ArrayParser)
    in_torch = ModelParser(read_trained(student), device="cpu")
    assert parser.decoded == in_torch.decoded
    if parser.output == "heads":
        heads = [[parse.heads for parse in each.parse_confident_heads(text)] for each in (parser, in_torch)]
        assert heads[0] == heads[1]
    else:
        assert list(map(str, parser.parse(text))) == list(map(str, in_torch.parse(text)))


def test_damaged_weights_are_reported(chart: Path) -> None:
    checkpoint = read_trained(chart)
    bad = replace(checkpoint, config=replace(checkpoint.config, model={**checkpoint.config.model, "span_size": 9}))
    with pytest.raises(SynparseError, match=r"weights and settings do not fit together: .*need the shape"):
        ArrayParser(bad, device="cpu")


def test_parsing_does_not_load_torch(student: Path) -> None:
    program = "import sys; from cli.main import run; code = run(sys.argv[1:]); sys.exit(code or 'torch' in sys.modules)"
    call = [sys.executable, "-c", program, "parse", "-m", str(student), "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(call, input="the dog saw a cat .\n" * 400, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(W dog)") + done.stdout.count("\tdog\t") == 400
