"""Distances, biases and trees of Kim et al. 2020, and perturbed masking of Wu et al. 2020, by `synparse decode`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from induce.decoding.hidden_states import MEASURES, impact_of_states, separation
from induce.decoding.priors import Evidence, branching_gaps
from induce.states.state_trees import StateSource
from induce.states.states_file import StatesFile
from tests.support.calls import Caller
from tests.support.reference import REFERENCE, Fixture, fixtures, load
from treebank.core.tree import Tree

DECODERS = {"plain": "unbiased", "notcoo": "biased-inner"}


def written_trees(output: str) -> list[set[tuple[int, int]]]:
    """The spans of each tree of two or more words in the lines of ``output``."""
    return [published(Tree.from_text(line).spans) for line in output.splitlines()]


def published(spans: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    """The spans of two or more words."""
    return {(start, end) for start, end in spans if end - start > 1}


@pytest.mark.parametrize("name", fixtures("trees_from_attention"))
def test_measures(name: str) -> None:
    fixture = load(name)
    states = list(StatesFile(REFERENCE / f"{name}.npz"))
    assert len(states) == len(fixture.sizes["lengths"])
    for index, sentence in enumerate(states):
        fixture.check(f"s{index}/word_hidden", sentence.hidden)
        fixture.check(f"s{index}/word_attention", sentence.attention)
        for measure, distances in MEASURES.items():
            if measure != "cosine":  # ours
                values = sentence.attention if distances.attention else sentence.hidden
                fixture.check(f"s{index}/{measure.replace('-', '_')}", distances(values))
        np.testing.assert_allclose(MEASURES["cosine"](sentence.hidden), 1 - MEASURES["cos"](sentence.hidden))


@pytest.mark.parametrize("name", fixtures("trees_from_attention"))
def test_biases_and_trees(name: str, call: Caller) -> None:
    fixture = load(name)
    states, bias = list(StatesFile(REFERENCE / f"{name}.npz")), fixture.sizes["bias"]
    for measure in next(iter(fixture.doc["expected"].values())):
        for layer in range(1, fixture.sizes["layers"] + 1):
            source = StateSource(measure.replace("_", "-"), layer)
            rows = [branching_gaps(source.row(sentence), Evidence((), 1.0), bias) for sentence in states]
            expected = [fixture.doc["expected"][f"s{index}"][measure][layer - 1] for index in range(len(states))]
            for row, entry in zip(rows, expected, strict=True):
                np.testing.assert_allclose(row[1:], entry["biased_values"], **fixture.tolerance)
            for key, decoder in DECODERS.items():
                for suffix, priors in (("", "none"), ("_biased", f"branching-gaps:{bias}")):
                    arguments = ["--from", str(REFERENCE / f"{name}.npz"), "--distances", source.measure]
                    arguments += ["--layer", str(layer), "--decoder", decoder, "--priors", priors]
                    trees = written_trees(call.result("decode", *arguments))
                    assert trees == [published(entry[key + suffix]) for entry in expected], (source, key, suffix)


def masked_states(fixture: Fixture) -> list[np.ndarray]:
    """States (N, N, D) of each case."""
    cases = zip(fixture.arrays["states"], fixture.arrays["length"].tolist(), strict=True)
    return [states[:length, :length] for states, length in cases]


@pytest.mark.parametrize("name", fixtures("perturbed_masking"))
def test_perturbed_masking(name: str, call: Caller, tmp_path: Path) -> None:
    fixture = load(name)
    cases = masked_states(fixture)
    for index, states in enumerate(cases):
        impact, count = impact_of_states(states), len(states)
        expected = [fixture.arrays[key][index, :count, :count] for key in ("impact", "score")]
        np.testing.assert_allclose(impact, expected[0], **fixture.tolerance)
        np.testing.assert_allclose(separation(impact), expected[1], **fixture.tolerance)
    spans = [published(row["spans"]) for row in fixture.doc["expected"]["rows"]]
    np.savez(tmp_path / "m.npz", **{f"s{index}/masked": states for index, states in enumerate(cases)})
    assert written_trees(call.result("decode", "--from", str(tmp_path / "m.npz"))) == spans
    lines = "".join(json.dumps({"impact": impact_of_states(states).tolist()}) + "\n" for states in cases)
    (tmp_path / "m.jsonl").write_text(lines, encoding="utf-8")
    assert written_trees(call.result("decode", str(tmp_path / "m.jsonl"))) == spans
