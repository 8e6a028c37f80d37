"""Input of commands: tokenization stored with a model, formats by content, outputs that would replace the input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import TINY, Caller
from tests.support.model_files import MODEL, content_of
from tests.support.tiny import sentences, with_trees
from tests.support.ud_rules import violations
from tests.support.working_folder import write
from treebank.core.sentence import Treebank

pytestmark = pytest.mark.usefixtures("working_folder")


RAW = "Güldü. Sonra gitti!\n" * 30


@pytest.fixture
def raw_model(call: Caller, tmp_path: Path) -> Path:
    run = tmp_path / "raw-model"
    text = write(str(tmp_path / "raw.txt"), RAW)
    call.result("train", text, "--tokenizer", "unicode", *TINY, "--set", "train.epochs=1", "-o", run)
    return run


def test_model_stores_the_tokenization_of_its_text(call: Caller, raw_model: Path) -> None:
    settings = content_of(raw_model / MODEL)
    assert '"tokenization": "unicode"' in json.dumps(settings)
    text = write("in.txt", "Sonra güldü. Gitti.\n")
    assert call.result("parse", "-m", raw_model, text).splitlines() == [
        "(X (W Sonra) (W güldü) (W .))",
        "(X (W Gitti) (W .))",
    ]
    assert len(call.result("parse", "-m", raw_model, text, "--tokenizer", "none").splitlines()) == 1
    first, second = map(json.loads, call.result("parse", "-m", raw_model, text, "--format", "jsonl").splitlines())
    assert (first["offsets"], second["offsets"]) == ([[0, 5], [6, 11], [11, 12]], [[13, 18], [18, 19]])
    assert (first["line"], second["line"]) == (1, 1)


def test_all_commands_read_text_as_the_model_requires(call: Caller, raw_model: Path) -> None:
    text = write("in.txt", "Sonra yine güldü. Gitti, sonra güldü!\n")
    assert "güldü." not in call.result("draw", "-m", raw_model, text)
    call.result("report", "-m", raw_model, text, "-o", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "güldü." not in page
    assert "güldü" in page
    agreement = ("analyze", "agreement", "-m", raw_model, "--baseline", "right", text)
    assert "|sentences:2" in call.result(*agreement)
    assert "|sentences:1" in call.result(*agreement, "--tokenizer", "none")


def test_models_with_different_tokenizers_read_the_same_words(
    call: Caller, raw_model: Path, model: Path, tmp_path: Path
) -> None:
    text = write("in.txt", "Sonra yine güldü. Gitti, sonra güldü!\n")
    both = ("-m", raw_model, "-m", model)  # the other model learned from a text that was tokenized already
    assert "güldü." not in call.result("draw", *both, text)
    assert "|sentences:2" in call.result("analyze", "agreement", *both, text)
    letters = tmp_path / "letters"
    raw = write(str(tmp_path / "raw.txt"), RAW)
    call.result("train", raw, "--tokenizer", "characters", *TINY, "--set", "train.epochs=1", "-o", letters)
    different = ("-m", raw_model, "-m", letters)
    call.result("combine", raw_model, letters, "-o", "vote")
    for command in (("draw", *different), ("analyze", "agreement", *different), ("parse", "-m", "vote")):
        code, _, err = call(*command, text)
        assert code == 1
        assert "different tokenizers (characters, unicode); choose one with --tokenizer" in err
        call.result(*command, text, "--tokenizer", "unicode")


def test_conllu_on_standard_input_and_what_is_written(call: Caller, model: Path) -> None:
    rows = "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n2\ton\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
    conllu = "# newdoc id = d\n# sent_id = s\n# text = Go on\n" + rows
    text = write("treebank.txt", conllu)
    code, out, err = call("parse", "-m", model, text, "--format", "jsonl")
    assert code == 0
    assert "read as conllu, by its content" in err
    assert json.loads(out) == {"words": ["Go", "on"], "spans": [[0, 2]], "line": 4, "id": "s", "document": "d"}
    assert call.result("convert", text, "--format", "conllu") == conllu
    assert violations(conllu) == []


@pytest.fixture
def short_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A built-in sample of 12 sentences."""
    parts = {part: Treebank(f"sample-{part}", with_trees(sentences(12))) for part in ("train", "dev", "test")}
    monkeypatch.setattr("treebank.corpora.catalog.sample_treebank", parts.get)


NAMED = """
parse sample
parse sample in.txt -o sample.trees
extract sample
draw sample
draw sample -m MODEL
perplexity sample
perplexity sample --per sentence
report sample -o report.html
convert sample
search X sample
phrases sample
browse sample -o page.html
analyze agreement sample -m MODEL --baseline right
analyze sharpness sample
analyze classes sample --classes 3
data prepare sample -o corpus
pairs pairs.tsv --ngram-text sample
eval --gold sample
"""


@pytest.mark.usefixtures("short_sample")
@pytest.mark.parametrize("command", NAMED.strip().splitlines())
def test_names_of_treebanks_are_accepted_like_files(
    call: Caller, model: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNPARSE_MODEL", str(model))
    write("in.txt", "the dog saw a cat .\n")
    write("pairs.tsv", "phenomenon\tgood\tbad\norder\tthe dog saw\tsaw dog the\n")
    code, _, err = call(*command.replace("MODEL", str(model)).split())
    assert code == 0, err


@pytest.mark.usefixtures("short_sample")
@pytest.mark.parametrize("command", ["parse sample", "perplexity sample", "convert sample", "eval --gold sample"])
def test_file_comes_before_a_treebank_of_its_name(
    call: Caller, model: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNPARSE_MODEL", str(model))
    named = call.result(*command.split())
    write("sample", "(S (NP (D the) (N fox)) (V ran))\n")
    assert call.result(*command.split()) != named


@pytest.mark.usefixtures("short_sample")
def test_a_treebank_by_name_is_trained_on_and_resumed(call: Caller) -> None:
    call.result("train", "sample", "--dev", "sample", *TINY, "--set", "train.epochs=1", "-o", "run")
    facts = content_of(Path("run", MODEL))["facts"]
    assert (facts["texts"], facts["training"]["sentences"]) == (["sample"], 12)
    call.result("train", "--resume", "-o", "run", "--set", "train.epochs=2")


def test_options_of_parsing_are_refused_where_they_have_no_effect(call: Caller, model: Path) -> None:
    problem = call.refusal("info", "-m", f"{model}@layer=1")
    assert problem.endswith("these options concern parsing, and this uses the model itself; leave out @layer")
