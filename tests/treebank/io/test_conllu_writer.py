"""CoNLL-U that survives: comments, ranges, empty nodes and columns stay, heads change, and the format is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.reference import SHARED
from tests.support.ud_rules import violations
from treebank.convert.convert import Conversion, Treebanks, convert
from treebank.core.dependency import restore_heads
from treebank.core.sentence import ROOT
from treebank.io.conllu import read_conllu
from treebank.io.read import InputOptions, read_sentences
from treebank.io.write import ConlluWriter

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
