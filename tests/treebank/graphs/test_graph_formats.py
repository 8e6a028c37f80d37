"""NeGra, TIGER-XML and TEI."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from tests.support.nested_trees import ROOTS, Node, flat
from treebank.base.errors import TreebankError
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.graphs.graph_trees import read_negra, read_tiger
from treebank.graphs.xml_texts import read_tei
from treebank.io.formats import FORMATS, WRITERS, ReadOptions, detect
from treebank.io.read import InputOptions, read_sentences
from treebank.io.source import Source

NEGRA = """%% a comment
#FORMAT 4
#BOS 1 0 0 0 %% its origin
Über	über	APPR	--	AC	500
wen	wer	PWS	--	NK	500
hat	haben	VAFIN	--	HD	502
er	er	PPER	--	SB	502
gesprochen	sprechen	VVPP	--	HD	501	SB	502
?	--	$.	--	--	0
#500	--	PP	--	OP	501
#501	--	VP	--	OC	502
#502	--	S	--	--	0
#EOS 1
"""
TIGER = """<?xml version="1.0" encoding="iso-8859-1"?>
<!-- a comment -->
<corpus id="c"><head><meta/></head><body>
<s id="s1"><graph root="s1_502" discontinuous="true"><terminals>
<t id="s1_1" word="&#220;ber" pos="APPR"/><t id="s1_2" word="wen" pos="PWS"/><t id="s1_3" word="hat" pos="VAFIN"/>
<t id="s1_4" word="er" pos="PPER"/><t id="s1_5" word="gesprochen" pos="VVPP"/>
<t id="s1_6" word="?" pos="$."/></terminals>
<nonterminals><nt id="s1_500" cat="PP"><edge label="AC" idref="s1_1"/><edge label="NK" idref="s1_2"/></nt>
<nt id="s1_501" cat="VP"><edge label="OP" idref="s1_500"/><edge label="HD" idref="s1_5"/></nt>
<nt id="s1_502" cat="S"><edge label="OC" idref="s1_501"/><edge label="HD" idref="s1_3"/>
<edge label="SB" idref="s1_4"/></nt>
<nt id="s1_VROOT" cat="VROOT"><edge label="--" idref="s1_502"/><edge label="--" idref="s1_6"/></nt>
</nonterminals></graph></s></body></corpus>
"""
CONTINUOUS = "(VROOT (S (PP-OP (APPR Über) (PWS wen)) (VAFIN hat) (PPER er) (VP-OC (VVPP gesprochen))) ($. ?))"


@pytest.mark.parametrize(("name", "text", "form"), [("a", NEGRA, "negra"), ("a.xml", TIGER, "tiger")])
def test_discontinuous_phrase_keeps_its_head(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert detect(tmp_path / name).name == form
    notes: list[str] = []
    (sentence,) = read_sentences([str(tmp_path / name)], input_options=InputOptions(notify=notes.append))
    assert str(sentence.tree) == CONTINUOUS
    assert sentence.tags == ("APPR", "PWS", "VAFIN", "PPER", "VVPP", "$.")
    assert notes[-1].endswith("discontinuous phrases that were made continuous: 1")


@pytest.mark.parametrize("form", ["negra", "tiger"])
@given(root=ROOTS)
def test_trees_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, form: str, root: Node) -> None:
    tree = flat(root)
    sentence = Sentence(()).with_tree(tree)
    path = tmp_path_factory.mktemp("trip") / "file"
    path.write_text("\n".join(WRITERS[form]([sentence, sentence], "collins")) + "\n", encoding="utf-8")
    assert [read.tree for read in FORMATS[form].read(Source(str(path)), ReadOptions())] == [tree, tree]


@pytest.mark.parametrize("length", [499, 500, 1200])
@pytest.mark.parametrize("form", ["negra", "tiger"])
def test_long_sentence_survives_a_round_trip(tmp_path: Path, form: str, length: int) -> None:
    tree = Tree.from_spans([f"w{i}" for i in range(length)], [(0, 2), (2, length)], label="A", tag="N")
    (tmp_path / "file").write_text("\n".join(WRITERS[form]([Sentence(()).with_tree(tree)], "collins")), "utf-8")
    assert [read.tree for read in FORMATS[form].read(Source(str(tmp_path / "file")), ReadOptions())] == [tree]


@pytest.mark.parametrize("form", ["negra", "tiger", "spans", "brackets"])
def test_tags_and_labels_with_brackets(tmp_path: Path, form: str) -> None:
    tree = Tree(('"', "Ja", "("), ("$(", "PTKANT", "$("), ((0, 3), (0, 1)), ("S", "(NP)"))
    reader = "jsonl" if form == "spans" else form
    (tmp_path / "file").write_text("\n".join(WRITERS[form]([Sentence(()).with_tree(tree)], "collins")), "utf-8")
    (sentence,) = FORMATS[reader].read(Source(str(tmp_path / "file")), ReadOptions())
    escaped = '(S (-LRB-NP-RRB- ($-LRB- ")) (PTKANT Ja) ($-LRB- -LRB-))'
    assert sentence.tree == (Tree.from_text(escaped) if form == "brackets" else tree)


@pytest.mark.parametrize(
    "text", ["", "a", "(S (NP (D a)) (V b))", "(S (D a\u2009) (V \u00a0b\u200ac))", "(S=2 (D a) (V b))"]
)
@pytest.mark.parametrize("form", ["negra", "tiger"])
def test_short_and_untagged_trees_and_thin_spaces(tmp_path: Path, form: str, text: str) -> None:
    tree = Tree.from_text(text) if text.startswith("(") else Tree(tuple(text), ("",) * len(text), (), ())
    (tmp_path / "file").write_text("\n".join(WRITERS[form]([Sentence(()).with_tree(tree)], "collins")), "utf-8")
    trees = [sentence.tree for sentence in FORMATS[form].read(Source(str(tmp_path / "file")), ReadOptions())]
    assert [read.words for read in trees if read] == [tree.words] * bool(tree.words)
    assert trees == [tree] or not tree.spans


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.export", "#BOS 1\na\tA\t--\t--\t500\n#EOS 1\n", "a.export:1: the parent 500 is not a phrase"),
        ("a.export", "#BOS 1\na\tA\n#EOS 1\n", "a.export:1: expected word, tag"),
        ("a.export", "#BOS 1\na\tA\t--\t--\t0\n", "a.export:1: this sentence has no #EOS"),
        (
            "a.export",
            "#BOS 1\n#500\tA\t--\t--\t501\n#501\tA\t--\t--\t500\n#EOS 1\n",
            "a.export:1: the edges .* form a cycle",
        ),
        ("a.export", NEGRA.replace("#501\t--", "#500\t--"), "two words or phrases have the id '500'"),
        ("a.export", NEGRA.replace("#EOS 1", "#EOS 2"), "begins with #BOS 1 and ends with #EOS 2"),
        (
            "a.xml",
            "<corpus>\n<s><graph><terminals><t id='1'/></terminals></graph></s></corpus>",
            "a.xml:2: .* no attribute 'word'",
        ),
        ("a.xml", "<corpus>\n<s>words</s></corpus>", "a.xml:2: this sentence has no <graph>"),
        ("a.xml", "<corpus>\n<s>", r"a.xml:2: malformed XML \(.*; check it with xmllint"),
        ("a.xml", "<!DOCTYPE corpus [<!ENTITY a 'b'>]>\n<corpus><s>&a;</s></corpus>", "a.xml:1: .* declares entities"),
        (
            "a.xml",
            "<corpus>\n<s><graph><terminals><t id='1' word='a'/></terminals><nonterminals><nt id='2'/></nonterminals>"
            "</graph></s></corpus>",
            "a.xml:2: the phrase '2' has no words; delete it",
        ),
        ("a.xml", "<?xml version='1.0' encoding='rot13'?>\n<corpus><s/></corpus>", "a.xml:.* this XML cannot be read"),
        (
            "a.export",
            "#BOS 1\na\tb\tA\t--\t--\t0\n#EOS 1\n",
            "a.export:1: the lines have a column of lemmas, .* begin the file with #FORMAT 4",
        ),
        ("a.xml", TIGER.replace('t id="s1_2"', 't id="s1_1"'), "two words or phrases have the id 's1_1'"),
    ],
)
def test_malformed_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    form = {"a.export": "negra", "a.xml": "tiger"}[name]
    with pytest.raises(TreebankError, match=message):
        list(read_sentences([name], input_options=InputOptions(form=form)))


def test_malformed_sentence_of_an_export_file_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.export"
    path.write_text(NEGRA + "#BOS 2\na\tA\n#EOS 2\n", encoding="utf-8")
    errors: list[TreebankError] = []
    assert len(list(read_negra(str(path), on_bad=errors.append))) == len(errors) == 1


@pytest.mark.parametrize(
    "text", ["(S (A #500) (B b))", "(S (A #EOS) (B b))", "(S (A a) (B %%))", "(S (%% a) (B b))", "(S-%% (A a) (B b))"]
)
def test_cell_with_another_meaning_is_refused_in_the_export_format(text: str) -> None:
    sentence = Sentence(()).with_tree(Tree.from_text(text))
    with pytest.raises(TreebankError, match="has another meaning in the format negra; choose another format"):
        list(WRITERS["negra"]([sentence], ""))


def test_words_similar_to_keywords_survive_the_export_format(tmp_path: Path) -> None:
    tree = Tree.from_text("(S (A #BOSS) (B #FORMAT3) (C #EOS.) (D #BOT) (E 5%%) (F #))")
    (tmp_path / "a.negra").write_text("\n".join(WRITERS["negra"]([Sentence(()).with_tree(tree)], "")), "utf-8")
    (sentence,) = read_negra(tmp_path / "a.negra")
    assert sentence.tree == tree


def test_spaces_in_tags_and_labels_of_tiger_become_no_break_spaces(tmp_path: Path) -> None:
    graph = '<graph><t id="1" word="a" pos="D T"/><t id="2" word="b" pos=" V "/><nt id="3" cat="N P"><edge idref="1" '
    graph += 'label="--"/><edge idref="4" label="S  B"/></nt><nt id="4" cat=" "><edge idref="2"/></nt></graph>'
    (tmp_path / "a.tiger").write_text(f"<corpus><s>{graph}</s></corpus>", encoding="utf-8")
    (sentence,) = read_tiger(tmp_path / "a.tiger")
    text = str(sentence.tree)
    assert text == "(N\u00a0P (D\u00a0T a) (---S\u00a0B (V b)))"
    assert Tree.from_text(text) == sentence.tree


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1f", "\ud800", "\uffff"])
def test_character_that_xml_forbids_is_refused_in_tiger(character: str) -> None:
    sentence = Sentence((), tree=Tree((f"a{character}", "b"), ("A", "B"), ((0, 2),), ("S",)), location=Location("f", 7))
    with pytest.raises(TreebankError, match=rf"^f:7: 'a.*' contains U\+{ord(character):04X}, which XML forbids; "):
        list(WRITERS["tiger"]([sentence], ""))


def notes_of(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    notes: list[str] = []
    list(read_sentences([str(path)], input_options=InputOptions(notify=notes.append)))
    return [note.removeprefix(f"{path}:") for note in notes if "discontinuous" not in note and "read as" not in note]


def test_lines_that_are_out_of_order_and_repeated_sentences_are_reported(tmp_path: Path) -> None:
    lines = NEGRA.splitlines(keepends=True)
    assert notes_of(tmp_path / "a.export", NEGRA) == []
    swapped = "".join([*lines[:9], lines[10], lines[9], *lines[11:]])
    (note,) = notes_of(tmp_path / "a.export", swapped)
    assert note.startswith("3: a word follows a phrase, or the numbers of phrases do not increase")
    again = "".join(lines[2:])
    assert [note.partition(" ha")[0] for note in notes_of(tmp_path / "a.export", NEGRA + again)] == [
        "14: this sentence"
    ]
    sentence = TIGER[TIGER.index("<s id") : TIGER.index("</body>")]
    repeated = TIGER.replace(sentence, sentence + "\n" + sentence)
    assert [note.partition(" ha")[0] for note in notes_of(tmp_path / "a.xml", repeated)] == ["14: this sentence"]


TEI = """<?xml version="1.0"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><s>not here</s></teiHeader><text><body><p>
<s n="1"><w pos="NE">New
 York</w><name><w pos="VB">sle<hi>eps</hi></w></name><pc pos="SENT">.</pc></s>
<s><tei:w xmlns:tei="http://www.tei-c.org/ns/1.0">Yes</tei:w><pc>!</pc></s>
</p></body></text></TEI>
"""


def test_words_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEI.replace("<s>not here</s>", ""), encoding="utf-8")
    first, second = read_sentences([str(path)])
    assert (first.words, first.tags) == (("New\u00a0York", "sleeps", "."), ("NE", "VB", "SENT"))
    assert (second.words, second.tags, second.location.line) == (("Yes", "!"), (), 5)


def test_sentences_without_words_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(TEI, encoding="utf-8")
    errors: list[TreebankError] = []
    assert len(list(read_tei("a.xml", on_bad=errors.append))) == 2
    assert [str(error) for error in errors] == ["a.xml:2: this sentence has no <w>; mark each word with <w> or <pc>"]
    Path("b.xml").write_text("<TEI><text/></TEI>", encoding="utf-8")
    with pytest.raises(TreebankError, match="there is no sentence <s>"):
        list(read_tei("b.xml"))


@pytest.mark.parametrize(
    ("inner", "words", "note"),
    [
        ("<w><choice><orig>vpon</orig><reg>upon</reg></choice></w>", "upon", ""),
        ("<choice><sic><w>teh</w></sic><corr><w>the</w></corr></choice>", "the", ""),
        ("<w><del>hil</del><add>hill</add><note>x</note></w>", "hill", "text of notes and deletions in words"),
        ("<w>10\u2009000</w> <w> New\n York </w>", "10\u2009000 New\u00a0York", ""),
        ("<w>Yes</w><c>,</c><c> </c> costs <w>ten</w>", "Yes , ten", "text outside of <w> and <pc> is left out: 1"),
    ],
)
def test_one_reading_is_read_and_lost_text_is_counted(tmp_path: Path, inner: str, words: str, note: str) -> None:
    path, notes = tmp_path / "a.tei", list[str]()
    path.write_text(f"<TEI><s>{inner}</s></TEI>", encoding="utf-8")
    (sentence,) = read_tei(path, notify=notes.append)
    assert " ".join(sentence.words) == words
    assert [note in message for message in notes] == [True] * bool(note)
