"""Minimal pairs: their files, the accuracy of a scorer, and n-grams as a baseline."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from induce.likelihood.language_model import Counted, EncodedSentence, SentenceLikelihood
from induce.likelihood.minimal_pairs import Accuracy, NgramModel, PairEvaluation, score_pairs
from induce.likelihood.pair_files import COLLECTIONS, LONG, SHORT, VerbAgreement, read_pairs
from tests.support.reference import SHARED
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

ROWS = [
    "phenomenon\tconfig\tgood\tbad\tbad2",
    "simple_agrmt\tsing\tthe author is old\tthe author are old\t",
    "prep_anim\tsing\tthe taxi driver next to the guards is old\tthe taxi driver next to the guards are old\t",
    "obj_rel_within_anim\tsing\tthe author that the guard likes is old\tthe author that the guard like is old\t",
    "simple_npi_anim\tpast\tno pilots have ever sung\tthe pilots have ever sung\tmost pilots have ever sung",
]


def test_columns_have_the_groups_and_subjects_of_table_3(tmp_path: Path) -> None:
    (tmp_path / "marvin_linzen").mkdir()
    with gzip.open(tmp_path / "marvin_linzen" / "marvin_linzen_all.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(ROWS) + "\n")
    pairs = read_pairs("marvin-linzen", folder=str(tmp_path))
    assert [pair.group for pair in pairs] == [SHORT, LONG, SHORT, SHORT, SHORT, SHORT]
    assert [pair.agreement for pair in pairs] == [
        VerbAgreement(0, 2, 1),
        VerbAgreement(0, 7, 2),  # "the taxi driver", up to "next"
        VerbAgreement(3, 5, 4),  # "the guard likes"
        *[None] * 3,
    ]
    npi = [(pair.good.words[0], pair.bad.words[0]) for pair in pairs[3:]]
    assert npi == [("no", "the"), ("the", "most"), ("no", "most")]
    assert pairs[4].phenomenon == "polarity items: simple (intrusive vs. ungrammatical)"


def test_blimp_zip_and_tab_separated_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"sentence_good": "She isn't old.", "sentence_bad": "Old isn't she.", "UID": "x", "linguistics_term": "y"}
    with zipfile.ZipFile(tmp_path / "BLiMP.zip", "w") as archive:
        archive.writestr("data/x.jsonl", json.dumps(entry) + "\n")
    monkeypatch.setenv("SYNPARSE_PAIRS", str(tmp_path))
    (pair,) = read_pairs("blimp")
    assert (pair.good.words, pair.phenomenon, pair.group) == (("She", "is", "n't", "old", "."), "x", "y")
    columns = tmp_path / "columns.txt"
    columns.write_text("a b\tb a\n\nc d\td c\n", encoding="utf-8")
    assert [pair.good.words for pair in read_pairs(str(columns))] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("header", ["", "phenomenon\tgood\tbad\n", "phenomenon\tgrammatical\tungrammatical\n"])
def test_three_columns_are_phenomenon_good_and_bad(header: str, tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text(f"{header}order\ta b\tb a\nend\tc d\tc\n", encoding="utf-8")
    pairs = [(pair.phenomenon, pair.good.words, pair.bad.words) for pair in read_pairs(str(tmp_path / "own.tsv"))]
    assert pairs == [("order", ("a", "b"), ("b", "a")), ("end", ("c", "d"), ("c",))]


COUNTS = "expected good and bad, or phenomenon, good and bad, separated by tabs; found"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "good only\n", f"a.txt:1: {COUNTS} 1 cell"),
        ("a.txt", "p\ta b\tb a\nq\ta b\n", f"a.txt:2: {COUNTS} 2 cells"),
        ("a.txt", "a b\tb a\np\ta b\tb a\n", f"a.txt:2: {COUNTS} 3 cells"),
        ("a.txt", "p\ta b\tb a\tc\n", f"a.txt:1: {COUNTS} 4 cells"),
        ("a.txt", "p\ta b\t\n", f"a.txt:1: {COUNTS} an empty sentence"),
        ("a.txt", "config\tgood\tbad\nx\ta b\n", "a.txt:2: expected config, good, bad, separated by tabs; found 2"),
        ("a.jsonl", '{"sentence_good": "x"}\n', 'a.jsonl:1: expected an object with "sentence_good"'),
        ("a.zip", "no zip", "a.zip: cannot be read as a zip"),
        ("a.txt", "", "a.txt: contains no pairs"),
    ],
)
def test_malformed_file_is_reported(name: str, content: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SynparseError, match=problem):
        read_pairs(str(tmp_path / name))


def test_missing_folder_of_a_collection_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNPARSE_PAIRS", raising=False)
    with pytest.raises(SynparseError, match="use --folder DIR or SYNPARSE_PAIRS"):
        read_pairs("blimp")
    with pytest.raises(SynparseError, match=r"contains none of BLiMP\.zip"):
        read_pairs("blimp", folder=str(tmp_path))


@pytest.mark.skipif(not (SHARED / "data" / "syneval").is_dir(), reason="the collections are not available")
def test_collections_have_the_published_phenomena() -> None:
    folder = str(SHARED / "data" / "syneval")
    pairs = read_pairs("marvin-linzen", folder=folder, limit=5)
    assert len({pair.phenomenon for pair in pairs}) == 19  # rows of table 3
    assert len(pairs) == 95
    assert {pair.group for pair in pairs} == {SHORT, LONG}
    far = [pair for pair in pairs if pair.agreement and pair.group == LONG]
    assert far
    assert all(pair.agreement and pair.agreement.noun in (1, 2) for pair in far)
    assert len({pair.phenomenon for pair in read_pairs("blimp", folder=folder, limit=1)}) == 67
    assert set(COLLECTIONS) == {"marvin-linzen", "blimp"}


class LengthScorer:
    """Log-probabilities that prefer the longer sentence, where "?" is an unknown word."""

    name, run = "longer", ""
    counted: Counted = "words+eos"

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceLikelihood]:
        for words in (sentence.words for sentence in sentences):
            ids = tuple(1 if word == "?" else ord(word[0]) for word in words)
            sentence = EncodedSentence(words, ids, tuple(word == "?" for word in words), 0)
            yield SentenceLikelihood(sentence, float(len(ids)))


def test_ties_count_half_and_unknown_words_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("phenomenon\tgood\tbad\np\ta a\ta\np\ta\ta a\nq\ta ?\ta ?\nq\ta b\tb a\n", encoding="utf-8")
    score = score_pairs(read_pairs(str(file)), LengthScorer(), "own")
    assert list(score.outcomes) == [1.0, 0.0, 0.5, 0.5]
    assert {name: accuracy.value for name, accuracy in score.by_phenomenon.items()} == {"p": 50.0, "q": 50.0}
    assert (score.unknown_percent, score.tied_percent, score.mean) == (25.0, 50.0, 50.0)
    assert score.signature.startswith("pairs|data:own|logp:words+eos|ties:half|mean:phenomena|pairs:4|")
    (table,) = PairEvaluation([score], {}).tables()
    assert table.texts()[:3] == [
        ["p", "2", "50.0", "[9, 91]"],
        ["q", "2", "50.0", "[9, 91]"],
        ["(mean of phenomena)", "", "50.0", ""],
    ]
    assert table.footnotes[-1] == score.signature


def test_interval_equals_the_published_one() -> None:
    """Wilson's interval of 8 of 10 (Brown, Cai and DasGupta 2001: 0.4902 to 0.9433)."""
    assert Accuracy(8, 10).interval == pytest.approx((49.02, 94.33), abs=0.01)
    assert {Accuracy(0, count).interval[0] for count in range(1, 50)} == {0}
    assert {Accuracy(count, count).interval[1] for count in range(1, 50)} == {100}


TEXT = [[2, 3, 2], [3, 2], [2, 4], [2, 3, 4, 4]]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_ngram_probabilities_sum_to_one(order: int) -> None:
    model = NgramModel(TEXT, order=order, size=6)
    for context in itertools.product(range(6), repeat=max(1, order - 1)):
        assert math.fsum(model.probability(context, word) for word in range(6)) == pytest.approx(1)


def test_bigram_probability_equals_hand_computed_one() -> None:
    """Three of the four sentences start with 2, and 2 follows 0 and 3."""
    model = NgramModel(TEXT, order=2, size=6)
    # bigrams counted once: 0 3, 2 0 is twice, 2 4, 3 4, 4 4; twice: 2 0, 2 3 … n1 = 4, n2 = 4
    counts = {(0, 2): 3, (0, 3): 1, (2, 3): 2, (3, 2): 2, (2, 0): 2, (2, 4): 1, (4, 0): 2, (3, 4): 1, (4, 4): 1}
    assert dict(model.counts[0]) == counts
    discount = 4 / (4 + 2 * 4)
    assert model.discounts[0] == pytest.approx(discount)
    types = {2: 2, 3: 2, 0: 2, 4: 3}  # different preceding words: 0 and 3; 0 and 2; 2 and 4; 2, 3 and 4
    lower = (types[2] - 0.5 + 0.5 * 4 / 6) / 9  # n1 = 0 among these: the discount is 0.5
    assert model.probability([0], 2) == pytest.approx((3 - discount + discount * 2 * lower) / 4)


def test_unseen_context_backs_off_to_the_shorter_one() -> None:
    model = NgramModel(TEXT, order=3, size=6)
    assert model.probability([5, 2], 3) == model.probability([2], 3) != model.probability([0, 2], 3)


def test_log_probability_includes_the_end_of_the_sentence() -> None:
    model = NgramModel(TEXT, order=2, size=6)
    parts = [model.probability([0], 2), model.probability([2], 4), model.probability([4], 0)]
    assert model.log_probability([2, 4]) == pytest.approx(math.log(math.prod(parts)))
