"""Priors of a model on the command line: listed, replaced, disabled, and named next to a score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import synparse
from tests.support.calls import Caller
from treebank.base.errors import SynparseError

TEXT = "The teacher saw the old man , they think .\nThey think that ( the teacher ) will come .\n"
GOLD = "(S (NP the old man) (VP (V saw) (NP a dog)))\n"


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    Path("in.txt").write_text(TEXT, encoding="utf-8")
    Path("gold.ptb").write_text(GOLD, encoding="utf-8")


def lines(call: Caller, *options: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in call.result("extract", "in.txt", "-m", "english-grammar", *options).splitlines()
    ]


def test_extract_writes_probabilities_and_the_scores_that_the_decoder_reads(call: Caller) -> None:
    for line in lines(call):
        scores = np.array(line["span_scores"])
        assert scores.min() >= 0
        assert scores.max() <= 1
        assert np.array(line["with_priors"]).shape == scores.shape
    without = lines(call, "--priors", "none")
    assert all("with_priors" not in line for line in without)
    assert [line["span_scores"] for line in without] == [line["span_scores"] for line in lines(call)]


@pytest.mark.parametrize("options", [(), ("--priors", "none"), ("--priors", "brackets:2")])
def test_decoding_what_extract_wrote_gives_the_trees_of_parse(call: Caller, options: tuple[str, ...]) -> None:
    Path("lines.jsonl").write_text(
        call.result("extract", "in.txt", "-m", "english-grammar", *options), encoding="utf-8"
    )
    assert call.result("decode", "lines.jsonl") == call.result("parse", "in.txt", "-m", "english-grammar", *options)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("english-grammar",), "|priors:segment-edges:0.25,branching:0.1,punctuation:0.1"),
        (("english-grammar", "--priors", "none"), "|priors:none"),
        (("english-grammar", "--priors", "brackets:2,branching:0.5"), "|priors:brackets:2,branching:0.5"),
        (("english@priors=brackets:2+branching:0.5",), "|priors:brackets:2,branching:0.5"),
    ],
)
def test_the_signature_names_the_priors(call: Caller, arguments: tuple[str, ...], expected: str) -> None:
    document = call.json("eval", "--gold", "gold.ptb", "-m", *arguments)
    assert expected in document["scores"][0]["signature"]


def test_two_values_of_an_option_are_refused(call: Caller) -> None:
    model = "english-grammar@priors=brackets:2+branching:0.5,decoder=mbr"
    call.result("parse", "in.txt", "-m", model, "--priors", "brackets:2,branching:0.5", "--decoder", "mbr")
    for option, value in (("decoder", "brackets"), ("priors", "none")):
        problem = call.refusal("parse", "in.txt", "-m", model, f"--{option}", value, code=2)
        assert problem.endswith(f"--{option} {value} is another value of @{option}; leave out one of them")


@pytest.mark.parametrize(
    ("prior", "problem"),
    [
        ("segment-edges:1", "prior 'segment-edges:1' needs the counts of a neural PCFG, which neither votes"),
        ("near-heads:0.1", "prior 'near-heads:0.1' needs heads; this model gives span_scores"),
    ],
)
def test_priors_without_effect_are_refused(call: Caller, prior: str, problem: str) -> None:
    assert problem in call.refusal("parse", "in.txt", "-m", "english", "--priors", prior, code=2)


def test_priors_that_the_decoder_does_not_read_are_refused(call: Caller, tiny_model: Callable[..., Path]) -> None:
    parse = ("parse", "in.txt", "-m", tiny_model("npcfg", "train.epochs=1"), "--priors", "branching:1")
    call.result(*parse)
    problem = call.refusal(*parse, "--decoder", "brackets", code=2)
    assert problem.startswith("prior 'branching:1' needs span_scores, and the decoder 'brackets' reads brackets; ")
    assert "reads brackets" in call.refusal("extract", *parse[1:], "--what", "brackets", code=2)


def test_members_of_an_ensemble_can_be_without_priors(call: Caller) -> None:
    call.result("combine", "english-grammar", "baseline:left", "-o", "both")
    assert synparse.load("both", priors="none").decoded.endswith("|priors:none")
    with pytest.raises(
        SynparseError, match="both: combine --priors chooses those of an ensemble; here only --priors none"
    ):
        synparse.load("both", priors="brackets:1")
    call.result("combine", "english-grammar@priors=branching:5", "baseline:left", "-o", "own")
    (member, _) = synparse.load("own", priors="none").voters
    assert "|priors:none|" in member.parser.decoded


@pytest.mark.parametrize(
    ("priors", "problem"),
    [
        ("", "priors '': an empty list; write none, or NAME:STRENGTH"),
        ("brakets:1", "there is no prior 'brakets'; did you mean 'brackets'?"),
        ("brackets", "prior 'brackets': write brackets:STRENGTH, with a strength from 0 to 100"),
        ("near-heads:0.5", "prior 'near-heads:0.5' needs heads; this model gives span_scores and brackets"),
    ],
)
def test_unusable_priors_are_refused(call: Caller, priors: str, problem: str) -> None:
    code, out, err = call("parse", "in.txt", "-m", "english-grammar", "--priors", priors)
    assert (code, out) == (2, "")
    assert problem in err
