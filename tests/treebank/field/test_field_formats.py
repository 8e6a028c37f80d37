"""Files of field linguists: words, glosses, morphemes and translations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.reference import ROOT
from treebank.base.errors import TreebankError
from treebank.io.read import InputOptions, read_sentences
from treebank.io.write import write_conllu

FIELD = ROOT.parent / "shared" / "data" / "field"
FLEX = """<document><interlinear-text><paragraphs><paragraph><phrases><phrase>
<words><word><item type="txt" lang="x">makan</item>
<morphemes><morph><item type="txt">ma-</item><item type="gls">V</item></morph>
<morph><item type="txt">kan</item><item type="gls">eat</item></morph></morphemes></word>
<word><item type="punct">.</item></word></words><item type="gls" lang="en">He eats.</item></phrase>
<phrase><item type="txt">no words</item></phrase></phrases></paragraph></paragraphs></interlinear-text></document>"""
WORD_GLOSSES = FLEX.replace("</morphemes>", """</morphemes><item type="gls">eats</item><item type="pos">v</item>""")
WORD_GLOSSES = WORD_GLOSSES.replace("eat</item>", """eat</item><item type="msa">root</item>""")
PANGLOSS = """<?xml version="1.0"?><TEXT><S><FORM>ab cd</FORM><TRANSL xml:lang="en">The ab.</TRANSL>
<W><M class="art"><FORM>a</FORM><TRANSL>DEF</TRANSL></M>
<M class="n"><FORM>b</FORM><TRANSL>thing</TRANSL></M></W><W><FORM>cd</FORM></W></S>
<S><FORM>no words</FORM></S></TEXT>"""
ELAN = """<ANNOTATION_DOCUMENT><TIER TIER_ID="empty"/><TIER TIER_ID="A"><ANNOTATION><ANNOTATION_VALUE>one two
</ANNOTATION_VALUE></ANNOTATION></TIER><TIER TIER_ID="B"><ANNOTATION_VALUE>uno</ANNOTATION_VALUE></TIER>
</ANNOTATION_DOCUMENT>"""
CHAT = (
    "@Begin\n*MOT:\tyou want (be)cause <the> [/] the ball@c ? \x151_2\x15\n%mor:\tpro|you\n"
    "*CHI:\txxx &-uh 0is\n\tmore +...\n*CHI:\txxx .\n@End\n"
)
SRT = "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i> there.\nHow?\n\n2\n00:00:03,000 --> 00:00:04,000\nFine.\n"
CODES = (
    "@Begin\n*CHI:\twell (.) I (..) go (1.5) home .\n*CHI:\tborn in 2005 at 10am and R&B 0then <0is> +/. ice+cream .\n"
    "*CHI:\t0 .\n@End\n"
)
NUMBERS = (
    "1\n00:00:01,000 --> 00:00:02,000\nOne .\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n7\n\n"
    "3\n00:00:05,000 --> 00:00:06,000\n42\n"
)
VTT = "WEBVTT\n\n00:01.000 --> 00:02.000\nbye &amp; &lt;3\n"
ALONE = "\\tx a b\n\\ge X Y\n\n\\tx c d\n\\ge Z W\n"
DIVIDED = "\\tx a b\n\n\\tx c d\n\\ft hi\n\n\\tx e\n\\ft ho\n"
SFM = (
    "\\_sh v3.0\n\\ref 1\n"
    "\\tx makan nasi\n\\mb ma- kan nasi\n\\ge V- eat rice\n\\ps pre- v n\n\\ft He eats rice.\n\\ref 2\n\\tx ya\n"
)
BLANKS = (
    "1\n00:00:01,000 --> 00:00:02,000\n{Ann} 2 < 3 and 4 > 1 .{\\an8}\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\nGo ,\n\nmy friend .\n\n3\n00:00:05,000 --> 00:00:06,000\n\nLate .\n"
)
NAMED_FIELDS = "\\ref 1\n\\tx ka na\n\\tx2 kaa naa\n\\ge dog PL\n\\ge2 chien PL\n\\ft dogs\n\\ft2 chiens\n"
SHORT_NAMES = "\\ref 1\n\\t ka na\n\\m k na\n\\g dog PL\n\\p n suf\n\\f dogs\n"
MORPHEMES = FLEX.replace('<word><item type="txt" lang="x">makan</item>', "<word>")
#: name of a file and its text -> the words of its sentences, and the columns XPOS and MISC of the first one
CASES = {
    ("a.flextext", FLEX): (["makan .", "no words"], ["_ Gloss=V-eat|MSeg=ma-kan", "_ _"]),
    ("b.flextext", WORD_GLOSSES): (
        ["makan .", "no words"],
        ["v Gloss=eats|MGloss=V-eat|MPOS=root|MSeg=ma-kan", "_ _"],
    ),
    ("a.xml", PANGLOSS): (["ab cd", "no words"], ["art-n Gloss=DEF-thing|MSeg=a-b", "_ MSeg=cd"]),
    ("flex.xml", FLEX): (["makan .", "no words"], ["_ Gloss=V-eat|MSeg=ma-kan", "_ _"]),
    ("elan.txt", ELAN): (["one two"], ["_ _", "_ _"]),
    ("a.sfm", SFM): (["makan nasi", "ya"], ["pre-v Gloss=V-eat|MSeg=ma-kan", "n Gloss=rice|MSeg=nasi"]),
    ("a.eaf", ELAN): (["one two"], ["_ _", "_ _"]),
    ("a.cha", CHAT): (["you want because the the ball ?", "more"], ["_ _"] * 7),
    ("b.cha", CODES): (["well I go home .", "born in 2005 at 10am and R&B ice+cream ."], ["_ _"] * 5),
    ("b.srt", NUMBERS): (["One .", "Two 7", "42"], ["_ _"] * 2),
    ("a.vtt", VTT): (["bye & <3"], ["_ _"] * 3),
    ("b.sfm", ALONE): (["a b", "c d"], ["_ Gloss=X", "_ Gloss=Y"]),
    ("c.sfm", DIVIDED): (["a b c d", "e"], ["_ _"] * 4),
    ("c.srt", BLANKS): (["{Ann} 2 < 3 and 4 > 1 .", "Go , my friend .", "Late ."], ["_ _"] * 9),
    ("c.cha", "*CHI:\tgo to www.x.org and xxx-ed <xxx> www .\n"): (["go to www.x.org and xxx-ed ."], ["_ _"] * 6),
    ("d.sfm", NAMED_FIELDS): (["ka na"], ["_ Gloss=dog", "_ Gloss=PL"]),
    ("e.sfm", SHORT_NAMES): (["ka na"], ["n Gloss=dog|MSeg=k", "suf Gloss=PL|MSeg=na"]),
    ("c.flextext", MORPHEMES): (["makan .", "no words"], ["_ Gloss=V-eat|MSeg=ma-kan", "_ _"]),
    ("a.srt", SRT): (["Hello there. How?", "Fine."], ["_ _"] * 3),
}
PUBLISHED = [("pangloss/crdo-LIF_NAMA.xml", 28, 5), ("elan/buddhism.eaf", 13, 25), ("sfm/Glossed.sfm", 1, 4)]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_sentences_with_glosses(name: str, text: str, tmp_path: Path) -> None:
    path, notes = tmp_path / name, list[str]()
    path.write_text(text, encoding="utf-8")
    sentences = list(read_sentences([path], input_options=InputOptions(notify=notes.append)))
    words, misc = CASES[name, text]
    assert [" ".join(sentence.words) for sentence in sentences] == words
    rows = sentences[0].annotation.rows if sentences[0].annotation else ()
    assert [f"{row[4]} {row[9]}" for row in rows] == misc
    beginnings = {
        "a.eaf": ["the tier 'A' is read"],
        "elan.txt": ["read as elan", "the tier 'A' is read"],
        "a.xml": ["read as pangloss"],
        "flex.xml": ["read as flextext"],
    }
    assert [note.partition(": ")[2].partition(",")[0] for note in notes] == beginnings.get(name, [])


def test_glosses_and_translation_are_written_as_conllu(tmp_path: Path) -> None:
    path = tmp_path / "a.flextext"
    path.write_text(FLEX, encoding="utf-8")
    first = next(write_conllu(read_sentences([path]), "collins")).split("\n")
    assert first[0] == "# text_en = He eats."
    assert first[3] == "1\tmakan\t_\t_\t_\t_\t_\t_\t_\tGloss=V-eat|MSeg=ma-kan"


def comments(tmp_path: Path, name: str, text: str) -> list[str]:
    """The comments of the first sentence of a file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    sentence = next(read_sentences([path], input_options=InputOptions(notify=lambda message: None)))
    return [*sentence.annotation.comments] if sentence.annotation else []


def test_sentences_have_their_names_and_free_translations(tmp_path: Path) -> None:
    items = """<item type="segnum">1.2</item><item type="gls" lang="en">Free.</item>"""
    items += """<item type="lit" lang="en">Literal.</item>"""
    flex = FLEX.replace("<phrase>", f"<phrase>{items}", 1).replace("""<item type="gls" lang="en">He eats.</item>""", "")
    assert comments(tmp_path, "a.flextext", flex) == ["# sent_id = 1.2", "# text_en = Free."]
    literal = flex.replace("""<item type="gls" lang="en">Free.</item>""", "")
    assert comments(tmp_path, "a.flextext", literal) == ["# sent_id = 1.2", "# text_en = Literal."]
    named = PANGLOSS.replace("<S>", """<S id="s 1">""", 1)
    assert comments(tmp_path, "a.xml", named) == ["# sent_id = s_1", "# text_en = The ab."]
    assert comments(tmp_path, "a.sfm", "\\ref kon.009\n\\tx a\n\\ft A\n") == ["# sent_id = kon.009", "# text_en = A"]


def test_toolbox_reports_fields_that_do_not_fit_and_a_file_without_text(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sfm", list[str]()
    path.write_text("\\ref 1\n\\tx a b\n\\ge k\n\\ref 2\n\\tx a\n\\ge k\n\\ref 3\n\\tx c d\n\\ps n\n", encoding="utf-8")
    assert len(list(read_sentences([path], input_options=InputOptions(notify=notes.append)))) == 3
    assert notes == [f"{path}:2: sentences lose fields with more or fewer parts than words: 2, such as \\ge"]
    path.write_text("\\q 1\n\\x ka na\n", encoding="utf-8")
    with pytest.raises(TreebankError, match=r"no field \\tx or \\t with the words, but q, x"):
        list(read_sentences([path]))


def test_positions_in_transcripts_are_not_those_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_text(SRT, encoding="utf-8")
    surfaces = [item.surface for item in read_sentences([path], input_options=InputOptions(tokenize="english"))]
    assert [surface.is_in_file for surface in surfaces if surface] == [False] * 3


def test_tokenizer_divides_punctuation_from_glossed_words(tmp_path: Path) -> None:
    path = tmp_path / "a.sfm"
    path.write_text("\\tx (makan nasi.)\n\\ge eat rice\n", encoding="utf-8")
    [block] = write_conllu(read_sentences([path], input_options=InputOptions(tokenize="unicode")), "collins")
    assert [row.split("\t")[1::8] for row in block.splitlines() if row[:1].isdigit()] == [
        ["(", "SpaceAfter=No"],
        ["makan", "Gloss=eat"],
        ["nasi", "Gloss=rice|SpaceAfter=No"],
        [".", "SpaceAfter=No"],
        [")", "_"],
    ]


@pytest.mark.skipif(not FIELD.is_dir(), reason="the files of ../shared/data/field are not here")
@pytest.mark.parametrize(("name", "sentences", "words"), PUBLISHED)
def test_published_files(name: str, sentences: int, words: int) -> None:
    read = list(read_sentences([FIELD / name], input_options=InputOptions(notify=lambda message: None)))
    assert len(read) == sentences
    assert len(read[0].words) >= words
