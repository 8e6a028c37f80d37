"""``synparse perplexity`` from the outside: of a text, of each sentence and of each word."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text
from tests.support.tiny import sentences
from treebank.core.sentence import Treebank

HEADER = ["System", "PPL", "Nats", "Bits/char.", "Unk.", "%", "Words", "Vocab."]
LINES = "writes lines of columns or, with --format json, JSON, but not "


@pytest.fixture
def lstm(tiny_model: Callable[..., Path]) -> Path:
    """A model without trees."""
    return tiny_model("lstm", "train.epochs=1")


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text, to work in."""
    Path("in.txt").write_text("The dog saw a zebra .\n\nThe old cat heard the man .\n", encoding="utf-8")


def test_the_table_and_the_signature(call: Caller, lstm: Path) -> None:
    header, _, row, _, signature = call.result("perplexity", "in.txt", "-m", lstm).splitlines()
    assert header.split() == HEADER
    name, value, nats, _, unknown, words, _ = row.split()
    assert (name, unknown, words) == (str(lstm), "9.09", "11")
    assert float(value) == pytest.approx(math.exp(float(nats)), rel=1e-3)
    assert signature.startswith("PPL|data:in.txt|tokens:words+eos|unk:kept|state:carried|batch:1|norm:words|vocab:")
    assert signature.endswith(f"|scored:13|v:0.1.0 = {value}")


def test_models_side_by_side(call: Caller, lstm: Path, model: Path) -> None:
    code, out, err = call("perplexity", "in.txt", "-m", lstm, "-m", model)
    assert code == 0
    rows = [line.split()[0] for line in out.splitlines()[2:4]]
    assert rows == [str(lstm), str(model)]
    assert err == ""
    Path("runs").mkdir()
    for name in ("seed-1", "seed-2"):
        Path("runs", name).symlink_to(lstm)
    assert "runs/seed-* (mean of 2, SD 0.00)" in call.result("perplexity", "in.txt", "-m", "runs/seed-*")
    document = call.json("perplexity", "in.txt", "-m", "runs/seed-*")
    assert [score["system"] for score in document["scores"]] == ["runs/seed-1", "runs/seed-2"]
    assert (document["groups"][0]["systems"], document["groups"][0]["sd"]) == ("runs/seed-*", 0)


def test_members_of_an_ensemble_are_scored(call: Caller, model: Path) -> None:
    Path("in.ptb").write_text("((The dog) (saw (a zebra)))\n", encoding="utf-8")
    call.result("combine", f"{model}@layer=1", f"{model}@layer=2", "baseline:right", "-o", "inner")
    call.result("combine", "inner", "in.ptb", "-o", "outer")
    alone = call.json("perplexity", "in.txt", "-m", model)["scores"]
    among = call.json("perplexity", "in.txt", "-m", "outer")
    assert [score["value"] for score in among["scores"]] == [score["value"] for score in alone]
    assert Path(among["scores"][0]["run"]).samefile(model)
    call.result("combine", "in.ptb", "baseline:right", "-o", "files")
    assert "no member of this ensemble is a model" in call.refusal("perplexity", "in.txt", "-m", "files")


def test_different_vocabularies_are_reported(call: Caller, lstm: Path, tiny_model: Callable[..., Path]) -> None:
    other = tiny_model("lstm", "train.epochs=1", "data.minimum_count=30")
    assert "the models have different vocabularies" in call.result("perplexity", "in.txt", "-m", lstm, "-m", other)
    code, _, err = call("perplexity", "in.txt", "-m", lstm, "-m", other, "--format", "json")
    assert code == 0
    assert "the models have different vocabularies" in err


def test_json(call: Caller, lstm: Path) -> None:
    document = call.json("perplexity", "in.txt", "-m", lstm)
    assert document["text"]["name"] == "in.txt"
    assert len(document["text"]["sha256"]) == 64
    (score,) = document["scores"]
    assert score["value"] == pytest.approx(math.exp(score["nats"]))
    assert (score["system"], score["run"]) == (str(lstm), str(lstm))
    assert (score["words"], score["sentences"], score["scored"], score["unknown"]) == (11, 2, 13, 1)
    assert score["characters"] == len("the dog saw a zebra\nthe old cat heard the man\n")


def test_where_the_text_comes_from(call: Caller, lstm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed text, raw text, a treebank or the sample, and the default model without -m."""
    monkeypatch.setenv("SYNPARSE_MODEL", str(lstm))
    plain = call.json("perplexity", "in.txt")["scores"][0]
    with gzip.open("in.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write(Path("in.txt").read_text(encoding="utf-8"))
    Path("raw.txt").write_text("The dog saw a zebra. The old cat heard the man.\n", encoding="utf-8")
    Path("in.mrg").write_text(
        "((S (DT The) (NN dog) (VBD saw) (DT a) (NN zebra) (. .)))\n"
        "((S (DT The) (JJ old) (NN cat) (VBD heard) (DT the) (NN man) (. .)))\n",
        encoding="utf-8",
    )
    for source in (["in.txt.gz"], ["raw.txt", "--tokenizer", "unicode"], ["in.mrg"]):
        again = call.json("perplexity", *source)["scores"][0]
        assert again["nats"] == plain["nats"], source
    sample = Treebank("sample-test", sentences(30))
    monkeypatch.setattr("treebank.corpora.catalog.sample_treebank", {"test": sample}.get)
    assert "|data:sample|" in call.result("perplexity", "sample", "--batch-size", "20")


@pytest.mark.parametrize(
    ("options", "words", "sentences"),
    [
        ("--tokenizer none", 8, 3),
        ("--tokenizer unicode", 8, 4),
        ("--tokenizer english", 9, 4),  # "ca n't"
        ("--tokenizer unicode --paragraphs", 8, 3),
    ],
)
def test_input_options(call: Caller, lstm: Path, options: str, words: int, sentences: int) -> None:
    """The scores are those of the words that ``--per sentence`` reads with the same options."""
    raw = "The d\u00f6g. The\ncat can't see.\n\nA man.\n"
    Path("raw.txt").write_bytes(raw.encode("latin-1"))
    arguments = ("raw.txt", "-m", lstm, "--encoding", "latin-1", *options.split())
    (score,) = call.json("perplexity", *arguments)["scores"]
    assert (score["words"], score["sentences"]) == (words, sentences)
    lines = [line.split("\t")[1] for line in call.result("perplexity", "--per", "sentence", *arguments).splitlines()]
    assert sum(map(int, lines)) == words
    assert "raw.txt:1: invalid UTF-8" in call.refusal("perplexity", "raw.txt", "-m", lstm)


def test_one_line_per_sentence(call: Caller, model: Path) -> None:
    Path("in.txt").write_text("The dog saw a zebra .\n\n.\nThe old cat heard the man .\n", encoding="utf-8")
    arguments = ("perplexity", "--per", "sentence", "in.txt", "-m", model)
    lines = [line.split("\t") for line in call.result(*arguments).splitlines()]
    assert [line[1:] for line in lines] == [["5", "1"], ["0", "0"], ["0", "0"], ["6", "0"]]
    assert [lines[1][0], lines[2][0]] == ["-", "-"]
    first = json.loads(call.result(*arguments, "--format", "json").splitlines()[0])
    assert f"{first['log_probability']:.4f}" == lines[0][0]
    assert sum(first["surprisals"]) * math.log(2) == pytest.approx(-first["log_probability"])


def test_one_line_per_word(call: Caller, model: Path) -> None:
    block = call.result("perplexity", "--per", "word", "in.txt", "-m", model).split("\n\n")[0].splitlines()
    assert [line.split("\t")[0] for line in block] == ["the", "dog", "saw", "a", "zebra", "<eos>"]
    assert block[4].endswith("\t<unk>")
    assert all(float(line.split("\t")[1]) > 0 for line in block)


@pytest.mark.parametrize("suffix", ["txt", "json", "csv"])
def test_output_file_has_the_content_of_standard_output(call: Caller, lstm: Path, suffix: str) -> None:
    form = "table" if suffix == "txt" else suffix
    expected = call.result("perplexity", "in.txt", "-m", lstm, "--format", form)
    assert call.result("perplexity", "in.txt", "-m", lstm, "-o", f"out.{suffix}") == ""
    assert Path(f"out.{suffix}").read_text(encoding="utf-8-sig") == expected  # CSV begins with a byte-order mark


def test_the_cache(call: Caller, lstm: Path) -> None:
    text = ("perplexity", "in.txt", "-m", lstm)
    assert "|batch:1|cache:500,theta:1,lambda:0.1|" in call.result(*text, "--cache")
    report = call.result(*text, "--cache", 7, "--cache-theta", 0.5, "--cache-lambda", 0.2)
    assert "|cache:7,theta:0.5,lambda:0.2|" in report
    without = call.json(*text)["scores"][0]["nats"]
    none = call.json(*text, "--cache", "--cache-lambda", 0)["scores"][0]["nats"]
    assert none == pytest.approx(without, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["in.txt", "--per", "word", "--cache"], "--compare, --batch-size and --cache require --per text"),
        (["in.txt", "--cache-theta", "1"], "--cache-theta and --cache-lambda require --cache"),
        (["in.txt", "--cache", "5", "--cache-theta", "nan"], "--cache-theta and --cache-lambda must be finite numbers"),
        (["in.txt", "--compare", "--batch-size", "2"], "--compare excludes --batch-size"),
        (["in.txt", "in.txt"], "--per text takes one TEXT"),
        (["in.txt", "--per", "word", "-m", "a", "-m", "b"], "--per word takes one model"),
        (["in.txt", "--per", "word", "--format", "csv"], f"--per word {LINES}csv"),
        (["in.txt", "--per", "sentence", "-o", "out.csv"], f"--per sentence {LINES}csv"),
        (["in.txt", "--per", "sentence", "--format", "latex"], f"--per sentence {LINES}latex"),
    ],
)
def test_options_that_exclude_each_other(call: Caller, lstm: Path, arguments: list[str], problem: str) -> None:
    model = [] if "-m" in arguments else ["-m", lstm]
    assert call.usage("perplexity", *arguments, *model) == f"Error: {problem}"


def test_texts_and_models_that_cannot_be_scored_are_refused(call: Caller, lstm: Path) -> None:
    assert call.refusal("perplexity", "none.txt", "-m", lstm) == "none.txt: no such file or folder"
    assert call.refusal("perplexity", "in.txt", "-m", "gone").startswith("gone: there is no such model")
    Path("empty.txt").write_text("\n.\n", encoding="utf-8")
    problem = "empty.txt: there is no word in it after normalization 'words'"
    assert call.refusal("perplexity", "empty.txt", "-m", lstm) == problem


def test_comparison_of_models(call: Caller, lstm: Path, model: Path) -> None:
    """The differences equal those of the table, and a model does not differ from itself."""
    text = Path("long.txt")
    text.write_text(toy_text(120), encoding="utf-8")
    report = call.json("perplexity", text, "-m", lstm, "-m", model, "--compare")
    values = [score["value"] for score in report["scores"]]
    assert [comparison["units"] for comparison in report["comparisons"]] == ["sentences", "segments"]
    for comparison in report["comparisons"]:
        assert comparison["difference"] == pytest.approx(values[1] - values[0], rel=1e-4)
    sentences, segments = report["comparisons"]
    assert sentences["interval"][0] <= sentences["difference"] <= sentences["interval"][1]
    assert (segments["interval"], segments["p_permutation"]) == (None, None)  # fewer than ten
    assert sentences["count"] == 120
    assert report["comparisons"][0]["p_permutation"] < 0.01
    again = Path("again")
    again.symlink_to(lstm)
    out = call.result("perplexity", text, "-m", lstm, "-m", again, "--compare")
    row = next(line for line in out.splitlines() if " sentences " in line)
    assert row.split()[-4:] == ["+0.00", "[+0.00,", "+0.00]", "1.0000"]
    assert call.refusal("perplexity", text, "-m", lstm, "--compare").startswith("nothing to compare")


@pytest.mark.parametrize(("name", "units"), [("transformer", ["segments"]), ("prpn", ["sentences", "segments"])])
def test_masked_models_and_sentences_are_compared_in_groups(
    call: Caller, tiny_model: Callable[..., Path], name: str, units: list[str]
) -> None:
    Path("text.txt").write_text(toy_text(120), encoding="utf-8")
    models = ["-m", tiny_model(name, "train.epochs=1"), "-m", tiny_model(name, "train.epochs=1", "train.seed=2")]
    report = call.json("perplexity", "text.txt", *models, "--compare")
    values = [score["value"] for score in report["scores"]]
    assert [comparison["units"] for comparison in report["comparisons"]] == units
    for comparison in report["comparisons"]:
        assert comparison["difference"] == pytest.approx(values[1] - values[0], rel=1e-3, abs=1e-3)
