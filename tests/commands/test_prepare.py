"""Training from a corpus on disk: the weights of a training from the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calls import TINY, Caller, toy_text
from tests.support.model_files import MODEL, RESUME, content_of, weights_of


@pytest.fixture(autouse=True)
def folder(working_folder: Path, tmp_path: Path) -> Path:
    """The current folder, with a text of raw sentences."""
    lines = [line.replace(" ", ", ", 1) + "." for line in toy_text(60).splitlines()]
    Path("text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_the_same_weights(call: Caller) -> None:
    code, out, err = call("data", "prepare", "text.txt", "-o", "corpus", "--tokenizer", "unicode")
    assert (code, out) == (0, "")
    assert "corpus: 60 sentences, " in err
    assert "note: " in err  # warns that the text is very small
    whole, short = ((*TINY, "--set", f"train.epochs={epochs}") for epochs in (2, 1))
    call.result("train", "text.txt", "--tokenizer", "unicode", "-o", "plain", *whole)
    call.result("train", "corpus", "-o", "prepared", *short)
    call.result("train", "--resume", "-o", "prepared", "--set", "train.epochs=2")
    for name in (MODEL, RESUME):
        weights = [weights_of(Path(run, name)) for run in ("plain", "prepared")]
        assert weights[0] == weights[1]
    facts = [content_of(Path(run, MODEL)) for run in ("plain", "prepared")]
    assert facts[0]["settings"]["data"] == facts[1]["settings"]["data"]
    assert facts[0]["facts"]["health"] == facts[1]["facts"]["health"]


def test_unsuitable_corpus_is_refused(call: Caller) -> None:
    call.result("data", "prepare", "text.txt", "-o", "corpus", "--set", "data.normalization=cased")
    assert "this run has 'words'; prepare it with" in call.refusal("train", "corpus", "-o", "run", *TINY)
    assert "is trained on alone" in call.refusal("train", "corpus", "text.txt", "-o", "run", *TINY)
    assert "already exists" in call.refusal("data", "prepare", "text.txt", "-o", "corpus")
    assert "holds a prepared corpus" in call.refusal("train", "corpus", "-o", "corpus", "--overwrite", *TINY)
    assert "which only synparse train reads" in call.refusal("parse", "-m", "english", "corpus")
    assert not Path("run").exists()
