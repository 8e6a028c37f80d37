"""`synparse data list`, `info` and `cite`: treebanks on this machine, and references of models."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.calls import Caller

SHORT = "( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home))) (. .)) )\n"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the treebanks of the machine that runs the tests."""
    monkeypatch.delenv("SYNPARSE_PTB", raising=False)
    monkeypatch.setattr("treebank.corpora.numbered_files.nltk_folders", lambda: [])


def penn(folder: Path, *numbers: str) -> Path:
    for number in numbers:
        path = folder / "WSJ" / number[:2] / f"WSJ_{number}.MRG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SHORT, encoding="utf-8")
    return folder


def test_every_name_of_a_full_treebank(call: Caller, tmp_path: Path) -> None:
    lines = call.result("data", "list", "--ptb", penn(tmp_path, "0001", "0201", "2399")).splitlines()
    assert lines[:8] == [
        "treebanks by name:",
        "  sample: 1,000 sentences",
        "  wsj: 3 sentences (3 of 49,208 sentences)",
        "  wsj40: 3 sentences (cut from 3 of 49,208 sentences)",
        "  wsj10: 3 sentences (cut from 3 of 49,208 sentences)",
        "  wsj-train: 1 sentences (1 of 39,832 sentences)",
        "  wsj23: 1 sentences (1 of 2,416 sentences)",
        "  wsj23-10: 1 sentences (cut from 1 of 2,416 sentences)",
    ]
    assert any(
        line.startswith("  wsj22: section 22, which the given copy of the Wall Street Journal part") for line in lines
    )


def test_a_sample_lacks_sections(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNPARSE_PTB", str(penn(tmp_path, "0001")))
    out = call.result("data", "list")
    assert "  wsj10: 1 sentences (5 % sample)\n" in out
    assert "  wsj23, wsj23-10: section 23, which nltk's 5 % sample (sections 00 and 01) does not contain; " in out
    assert f"  $SYNPARSE_PTB = {tmp_path}\n" in out


def test_nothing_is_found(call: Caller) -> None:
    missing = [line for line in call.result("data", "list").splitlines() if "nltk.downloader" in line]
    assert len(missing) == 1
    assert missing[0].startswith("  wsj, wsj40, wsj10, wsj-train, wsj22, wsj23, wsj23-10, wsj-udgn-train, ")


def test_model_and_settings_exclude_each_other(call: Caller) -> None:
    assert "exclude each other" in call.usage("info", "-m", "run", "--settings", "onlstm")


def test_info_without_model_lists_data(call: Caller) -> None:
    out = call.result("info")
    assert "\n  distances: unbiased, biased, biased-inner, nary, segments\n" in out
    assert out.startswith("synparse ")
    assert "  sample: 1,000 sentences\n" in out


def test_data_needs_no_torch(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    call.result("data", "list")


def test_cite(call: Caller, model: Path, tmp_path: Path) -> None:
    alone = call.result("cite")
    assert alone.startswith("@software{synparse,")
    assert alone.count("@") == 1
    call.result("combine", model, "english-grammar", "baseline:right", "-o", tmp_path / "vote.safetensors")
    for name, keys in {
        model: ["shen-etal-2019-onlstm"],
        model / "model.safetensors": ["shen-etal-2019-onlstm"],
        f"{model}@layer=1": ["shen-etal-2019-onlstm"],
        tmp_path / "vote.safetensors": ["shen-etal-2019-onlstm", "kim-etal-2019-compound"],
    }.items():
        cited = call.result("cite", "-m", name, "--gold", "wsj10", "--convention", "on-lstm", "--convention", "km")
        cited_keys = [line.split("{")[1] for line in cited.splitlines() if line.startswith("@")]
        expected = ["synparse", *keys, "marcus-etal-1993", "shen-etal-2019-onlstm", "klein-manning-2002"]
        assert cited_keys == [f"{key}," for key in dict.fromkeys(expected)]
        assert cited.count("{") == cited.count("}")


def test_model_card_has_metadata_and_training(call: Caller) -> None:
    _, metadata, card = call.result("info", "-m", "english", "--format", "markdown").split("---\n", 2)
    assert "library_name: synparse\n" in metadata
    assert "- chart\n" in metadata
    assert "| words | 315,931 |" in card
    assert "parse.decoder=mbr" in card
    assert "require" in call.usage("info", "--format", "markdown")
