"""Columns of CoNLL-U, CoNLL-X and .dp, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import SHARED
from tests.support.ud_rules import violations
from treebank.base.errors import TreebankError
from treebank.convert.convert import Conversion, Treebanks, convert
from treebank.core.dependency import restore_heads
from treebank.core.sentence import ROOT, Sentence
from treebank.io.conllu import read_conllu, read_conllx, read_dp
from treebank.io.predictions import read_prediction_heads
from treebank.io.read import InputOptions, read_sentences
from treebank.io.write import ConlluWriter

CONLLU = """\
# sent_id = 1
# text = Vâmonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tS\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_
4.1\tgran\t_\t_\t_\t_\t_\t_\t5:amod\t_
5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\t_


# the second has no XPOS, and its last word holds a space
1\tMột\t_\tNUM\t_\t_\t2\tnummod\t_\t_
2\tchính sách\t_\tNOUN\t_\t_\t0\troot\t_\t_
"""


def write(folder: Path, text: str, name: str = "a.conllu") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def row(number: object, word: str = "a", head: object = 0) -> str:
    return f"{number}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_conllu(tmp_path: Path, ends: str) -> None:
    first, second = read_conllu(write(tmp_path, CONLLU.replace("\n", ends)))
    assert first.words == ("Vamos", "nos", "a", "el", "mar")
    assert first.tags == ("V", "P", "S", "D", "N")
    assert first.universal_tags == ("VERB", "PRON", "ADP", "DET", "NOUN")
    assert first.heads == (ROOT, 0, 4, 4, 0)
    assert first.location.line == 3
    assert second.words == ("Một", "chính\u00a0sách")  # as in every other format
    assert second.tags == second.universal_tags == ("NUM", "NOUN")
    assert second.heads == (1, ROOT)
    assert second.location.line == 14


def test_nothing_but_words(tmp_path: Path) -> None:
    (sentence,) = read_conllu(write(tmp_path, row(1, head="_") + row(2, "_", head="_")))
    assert sentence.words == ("a", "_")
    assert (sentence.tags, sentence.universal_tags, sentence.heads) == ((), (), ())


@pytest.mark.parametrize("text", ["", "\n \n", "# only a comment\n"])
def test_file_without_rows_has_no_sentences(tmp_path: Path, text: str) -> None:
    assert list(read_conllu(write(tmp_path, text))) == []


def test_conllx_knows_no_comments(tmp_path: Path) -> None:
    (sentence,) = read_conllx(write(tmp_path, "1\t#\t#\tC\t#\t_\t0\tROOT\t_\t_\n", "a.conllx"))
    assert (sentence.words, sentence.tags, sentence.universal_tags) == (("#",), ("#",), ())


def test_three_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "\n#\t#\t2\n15\tCD\t0\n\n\nYes\tUH\t0\n", "a.dp")
    first, second = read_dp(path)
    assert (first.words, first.tags, first.heads) == (("#", "15"), ("#", "CD"), (1, ROOT))
    assert (first.location.line, second.location.line) == (2, 6)
    assert list(read_sentences([path])) == [first, second]


def write_conllu(words: Sequence[str], heads: Sequence[int]) -> str:
    return ConlluWriter()(Sentence(tuple(words)), heads) + "\n"


def test_space_in_a_word_is_written_unchanged(tmp_path: Path) -> None:
    (sentence,) = read_conllu(write(tmp_path, row(1, word="chính sách") + row(2, head=1)))
    assert "\n1\tchính sách\t_" in write_conllu(sentence.words, sentence.heads)


BAD = {
    "1\ta\t0\n": (1, "found 3 columns where CoNLL-U has 10, separated by tabs; a blank line separates"),
    "1 a _ _ _ _ 0 _ _ _\n": (1, "found 1 column where CoNLL-U has 10; columns are separated by tabs, not by spaces"),
    row(1) + "text\n": (2, "found 1 column where CoNLL-U has 10, separated by tabs"),
    row(1) + row(3): (2, "the word's number is '3' where 2 was expected; the words of a sentence count up from 1"),
    row(1) + row(1): (2, "the word's number is '1' where 2 was expected; a blank line is missing before it"),
    row("x"): (1, "the word's number is 'x' where 1 was expected"),
    row("01"): (1, "the word's number is '01' where 1 was expected"),
    row("1-2") + row(1) + row(2, head=3): (3, "the head is word 3, but the sentence has 2 words"),
    row(1, head="a"): (1, "the head is 'a', not a word's number (0 for the root)"),
    row(1, head=-1): (1, "the head is '-1', not a word's number"),
    row(1, head="²"): (1, "the head is '²', not a word's number"),
    row(1, word=""): (1, "the word (column FORM) is empty"),
    row("1-2"): (1, "this sentence has no word"),
    row(1) + "# text = b\n" + row(1): (
        2,
        "a comment inside a sentence; a blank line is missing before it: '# text = b'",
    ),
    row(1, head=5000 * "9"): (1, f"the head is '{30 * '9'}…', not a word's number"),
    row(5000 * "9"): (1, f"the word's number is '{30 * '9'}…' where 1 was expected"),
}


@pytest.mark.parametrize(
    ("text", "words", "note"),
    [
        (row(1, head=0) + "# a remark\n" + row(2, head=1), 2, ":2: a comment inside of a sentence"),
        (row(1, head=0) + row(2, head="_"), 2, ":1: a word of this sentence has no head"),
        ("# sent_id = 1\n# text = Yes\n\n" + row(1, head=0), 1, ":1: comments of a sentence without words"),
        (row(1, word="_", head=0) + row(2, word="_", head=1), 2, ": 100% of the words are _"),
        ("# newdoc id = d\n\n" + row(1, head=0), 1, ""),
    ],
)
def test_unusual_lines_are_noted(tmp_path: Path, text: str, words: int, note: str) -> None:
    path, notes = write(tmp_path, text + "\n"), list[str]()
    (sentence,) = read_conllu(path, notify=notes.append, keep_annotation=True)
    assert len(sentence.words) == words
    assert sentence.annotation is not None
    assert sentence.annotation.comment("sent_id") is None
    assert [message.startswith(path + note) for message in notes] == [True] * bool(note)


def test_truncated_file_is_an_error(tmp_path: Path) -> None:
    """However many rows are left of a sentence, they are never taken for all of it without a word."""
    whole = CONLLU[: CONLLU.index("\n\n") + 1].replace("â", "á")
    lines = whole.splitlines(keepends=True)
    for complete in range(3, len(lines)):
        with pytest.raises(TreebankError):
            list(read_conllu(write(tmp_path, "".join(lines[:complete]))))
    with pytest.raises(
        TreebankError, match=r"conllu:6: the file ends before 'mar' of # text; the file seems to be cut"
    ):
        list(read_conllu(write(tmp_path, "".join(lines[:6]))))
    assert [len(sentence.words) for sentence in read_conllu(write(tmp_path, "".join(lines)))] == [5]
    assert not list(read_conllu(write(tmp_path, "".join(lines[:-2])), on_bad=lambda error: None))
    with pytest.raises(TreebankError, match="conllu:3: after this sentence the file ends with a comment"):
        list(read_conllu(write(tmp_path, "".join(lines) + "\n# sent_id = 2\n")))
    with pytest.raises(TreebankError, match="no word of its last sentence is the root"):
        list(read_conllx(write(tmp_path, row(1, head=2) + row(2, head=1), "a.conllx")))


@pytest.mark.parametrize("text", BAD)
def test_errors_name_file_and_line(tmp_path: Path, text: str) -> None:
    line, message = BAD[text]
    path = write(tmp_path, row(1) + "\n" + text)
    sentences = read_conllu(path)
    assert next(sentences).words == ("a",)
    with pytest.raises(TreebankError) as caught:
        next(sentences)
    assert str(caught.value).startswith(f"{path}:{line + 2}: {message}")


def test_broken_sentences_can_be_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "\n".join([row(1, "a"), row(2, "b"), row(1, "c"), row(1, "d", head=7), row(1, "e")]))
    errors: list[TreebankError] = []
    assert [sentence.words for sentence in read_sentences([path], on_bad=errors.append)] == [("a",), ("c",), ("e",)]
    assert [error.line for error in errors] == [3, 7]


words = st.text(st.characters(exclude_characters="\t\n\r\0 ", exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(st.lists(st.tuples(words, st.integers(ROOT, 4)), min_size=5, max_size=8))
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, int]]) -> None:
    forms, heads = zip(*pairs, strict=True)
    path = write(tmp_path_factory.mktemp("conllu"), write_conllu(forms, heads) * 2)
    for sentence in read_conllu(path):
        assert (sentence.words, sentence.heads) == (forms, heads)
    assert [(item.words, item.heads) for item in read_prediction_heads(path)] == [(forms, heads)] * 2


def test_predicted_heads(tmp_path: Path) -> None:
    first, second = read_prediction_heads(write(tmp_path, CONLLU, "predicted.txt"))
    assert (first.line, first.words[0], first.heads) == (3, "Vamos", (ROOT, 0, 4, 4, 0))
    assert second.line == 14
    with pytest.raises(TreebankError, match=r"a\.conllu:1: this sentence has no heads"):
        read_prediction_heads(write(tmp_path, row(1, head="_")))


def notes_of(path: str) -> list[str]:
    notes: list[str] = []
    list(read_conllu(path, notify=notes.append))
    return notes


RANGE = "\t".join(["1-2", "ab", *["_"] * 8])
TWO_WORDS = f"# sent_id = {{}}\n# text = ab c\n{RANGE}\n{row(1, 'a')}{row(2, 'b', 1)}{row(3, 'c', 1)}\n"


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace("# text = ab c", "# text = ab d", 1), 3),
        (lambda text: text.replace(row(3, "c", 1), row(3, "x", 1), 1), 3),
        (lambda text: text.replace(row(3, "c", 1), "", 1), 3),
    ],
    ids=["other text", "changed word", "lost last line"],
)
def test_words_that_are_not_those_of_the_text_are_reported(
    tmp_path: Path, damage: Callable[[str], str], line: int
) -> None:
    text = TWO_WORDS.format(1) + TWO_WORDS.format(2)
    assert notes_of(write(tmp_path, text)) == []
    path = write(tmp_path, damage(text))
    assert notes_of(path) == [f"{path}:{line}: the words are not those of # text; is a line lost, repeated or changed?"]


def test_repeated_sent_id_is_reported_within_a_document(tmp_path: Path) -> None:
    first, second = TWO_WORDS.format(1), TWO_WORDS.format(2)
    path = write(tmp_path, first + second + first + second)
    (note,) = notes_of(path)
    assert note.startswith(f"{path}:17: this sentence has the id of an earlier one")
    assert note.endswith("(1 more like this)")
    assert notes_of(write(tmp_path, f"# newdoc\n{first}{second}# newdoc\n{first}{second}")) == []


@pytest.mark.parametrize("word", ["a ", " a"])
def test_space_at_the_edge_of_a_word_is_reported(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, f"{row(1, 'a b')}{row(2)}\n{row(1)}{row(2, word, 1)}\n")
    assert notes_of(path) == [f"{path}:4: a word of this sentence begins or ends with a space"]


@pytest.mark.parametrize("names", ["1 2 1-2", "2-3 1 2 3", "1-1 1 2", "2-1 1 2", "1.1 1 2", "1 2 1.1"])
def test_token_or_empty_node_at_another_word_is_an_error(tmp_path: Path, names: str) -> None:
    rows = [row(name, head=0 if name == "1" else 1) for name in names.split()]
    with pytest.raises(TreebankError, match=r"the line '.*' is not (before its words|after its word)"):
        list(read_conllu(write(tmp_path, "".join(rows) + "\n")))


UD = SHARED / "data" / "ud"
SAMPLE = """\
# newdoc id = d1
# sent_id = s1
# text = I don't.
# speaker = A
1\tI\tI\tPRON\tPRP\tCase=Nom\t3\tnsubj\t3:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tAUX\tVBP\t_\t3\taux\t3:aux\t_
3\tn't\tnot\tPART\tRB\t_\t0\troot\t0:root\t_
3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t3:conj\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\tNote=x

"""


def test_new_heads_in_the_old_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(SAMPLE)
    (sentence,) = read_conllu(str(path), keep_annotation=True)
    assert ConlluWriter()(sentence, sentence.heads) + "\n" == SAMPLE
    written = ConlluWriter()(sentence, (ROOT, 0, 0, 0)).split("\n")
    assert written[:4] == SAMPLE.split("\n")[:4]
    assert written[4] == "1\tI\tI\tPRON\tPRP\tCase=Nom\t0\troot\t_\t_"
    assert written[5] == SAMPLE.split("\n")[5]
    assert [line.split("\t")[0] for line in written[4:9]] == ["1", "2-3", "2", "3", "4"]
    assert written[8].split("\t")[6:] == ["1", "dep", "_", "Note=x"]


@pytest.mark.parametrize("predicted", [False, True])
def test_no_column_keeps_what_belongs_to_other_heads(tmp_path: Path, predicted: bool) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(SAMPLE)
    (sentence,) = read_conllu(str(path), keep_annotation=True)
    rows = [line.split("\t") for line in ConlluWriter(predicted=predicted)(sentence, (ROOT, 0, 0, 0)).splitlines()[4:]]
    assert {(row[0], row[6]) for row in rows} == {("1", "0"), ("2-3", "_"), ("2", "1"), ("3", "1"), ("4", "1")}
    assert {row[7] for row in rows} == {"root", "dep", "_"}
    assert {row[8] for row in rows} == {"_"}


def test_predicted_heads_never_keep_the_relations_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(SAMPLE)
    (sentence,) = read_conllu(str(path), keep_annotation=True)
    rows = [line.split("\t") for line in ConlluWriter(predicted=True)(sentence, sentence.heads).splitlines()[4:]]
    relations = [(row[6], row[7]) for row in rows if row[0].isdecimal()]
    assert relations == [("3", "dep"), ("3", "dep"), ("0", "root"), ("3", "dep")]


TREEBANKS = ["UD_English-EWT/en_ewt-ud-test", "UD_German-PUD/de_pud-ud-test", "UD_Tamil-TTB/ta_ttb-ud-test"]


@pytest.mark.parametrize("name", TREEBANKS)
def test_treebank_is_written_unchanged(name: str) -> None:
    path = UD / f"{name}.conllu"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    assert "".join(text + "\n" for text in convert(Treebanks([str(path)]), Conversion("conllu"))) == path.read_text(
        "utf-8"
    )


def chain(count: int) -> tuple[int, ...]:
    return restore_heads(tuple(range(-1, count - 1)), tuple(range(count)), count)


@pytest.mark.parametrize("name", [TREEBANKS[0], "UD_Vietnamese-VTB/vi_vtb-ud-test", "UD_Turkish-IMST/tr_imst-ud-test"])
def test_parsed_treebanks_are_valid(name: str) -> None:
    path = UD / f"{name}.conllu"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    writer = ConlluWriter()
    sentences = list(read_conllu(str(path), keep_annotation=True))[:400]
    document = "".join(writer(sentence, chain(len(sentence.words))) + "\n" for sentence in sentences)
    assert violations(document) == []
    assert document.count("# sent_id") == len(sentences)


def test_tags_and_relations_of_other_formats_are_written(tmp_path: Path) -> None:
    columns = ("1\tdogs\t_\tN\tNNS\t_\t2\tSBJ\t_\t_", "2\tbark\t_\tV\tVBP\t_\t0\tROOT\t_\t_")
    (tmp_path / "a.conllx").write_text("\n".join(columns) + "\n\n")
    (tmp_path / "a.ptb").write_text("(S (NP (NNS dogs)) (VP (VBP bark)))\n")
    (tmp_path / "a.txt").write_text("(X (W dogs) (W bark))\n")
    rows = {}
    for name in ("a.conllx", "a.ptb", "a.txt"):
        (text,) = convert(Treebanks([str(tmp_path / name)]), Conversion("conllu"))
        rows[name] = [line.split("\t")[3:8] for line in text.splitlines()[2:]]
    assert rows["a.conllx"] == [["_", "NNS", "_", "2", "SBJ"], ["_", "VBP", "_", "0", "ROOT"]]
    assert rows["a.ptb"] == [["_", "NNS", "_", "2", "dep"], ["_", "VBP", "_", "0", "root"]]
    assert rows["a.txt"][0][:3] == ["_", "_", "_"]


def test_raw_text_gets_ids_text_and_spacing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Güldü.  Sonra\n(belki) gitti.\n")
    writer = ConlluWriter()
    sentences = read_sentences([path], input_options=InputOptions(tokenize="unicode", paragraphs=True))
    document = "".join(writer(sentence, chain(len(sentence.words))) + "\n" for sentence in sentences)
    assert violations(document) == []
    assert "# sent_id = 2\n# text = Sonra (belki) gitti.\n" in document
    assert "1\tGüldü\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No\n" in document


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("sent_id = s1", "id = s1", "0 sent_id, 1 text"),
        ("I don't.", "I do not.", "text"),
        ("\t0\troot\t0:root", "\t9\troot\t0:root", "head 9"),
        ("\tNote=x\n\n", "\tNote=x\n", "no empty line"),
        ("\tI\tI\t", "\tI\t\t", "empty cell"),
    ],
)
def test_rules_detect_invalid_conllu(old: str, new: str, finding: str) -> None:
    assert violations(SAMPLE) == []
    assert any(finding in problem for problem in violations(SAMPLE.replace(old, new)))
