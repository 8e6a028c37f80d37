"""Files of field linguists: words, glosses, morphemes and translations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.reference import ROOT
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
