"""Files that are not sentences or trees of the format that they seem to have: read as what they are, or refused.

The examples in the text of this file are the smallest ones of each type. The folder ../shared/cases has files from
public bug reports and questions, each with its source.
"""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.calls import Caller
from tests.support.plain_readers import conllu_words, corpussearch_words
from tests.support.reference import ROOT
from treebank.io.formats import TEXT, detect
from treebank.io.read import InputOptions, read_sentences

CASES = ROOT.parent / "shared" / "cases"
DATA = ROOT.parent / "shared" / "data"
REFUSED = "refused: "  # begins the text that a refusal contains
NOTED = "noted: "  # begins the text of a note of a call that succeeds

#: folder and command -> the output, or a part of the message
TABLE = {
    "01-psd-without-id: convert a.psd --format text": "And slept .\nHe left .\n",
    "02-psd-code-under-tag: convert a.psd --format text": "She slept the bench .\nHe left .\n",
    "04-psd-hyphen-cut: convert a.psd --format text": "Anne-Marie\nShe was well-known .\n",
    "05-annotald-version: convert a.psd --format text": "She came .\n",
    "06-psd-deep: convert a.psd": "(IP-MAT (NP-SBJ (PRO-N She)) (VBDI saw) (NP-OB1 (N-A horses)))\n",
    "08-switchboard-speaker: convert a.mrg --format text": "Hello .\nthis is Ann here .\n",
    "10-word-slash-tag: convert chunk.mrg": f"{REFUSED}leaves word/TAG",
    "10-word-slash-tag: convert old.prd": f"{REFUSED}leaves word/TAG",
    "12-escaped-brackets: convert a.mrg": "(S (NP (NN x)) (-LRB- -LRB-) (NP (NN y)) (-RRB- -RRB-) (VP (VBZ z)))\n",
    "13-unescaped-brackets: convert a.mrg": f"{REFUSED}write it as -LRB- or -RRB-",
    "13-unescaped-brackets: convert b.mrg": f"{REFUSED}write it as -LRB- or -RRB-",
    "13-unescaped-brackets: convert c.mrg": f"{REFUSED}write it as -LRB- or -RRB-",
    "14-discbracket: convert a.discbracket": f"{REFUSED}discbracket",
    "17-empty-trees: convert gold.mrg": "\n(S (NP (PRP I)) (VP (VBP run)) (. .))\n\n",
    "17-empty-trees: eval --gold gold2.mrg pred.txt": f"{NOTED}trees without words in pred.txt: 1",
    "18-tei-choice: convert a.xml --format text": "She stood upon the hill there\n",
    "19-tei-lost-words: convert a.xml --format text": f"{NOTED}text outside of <w> and <pc> is left out: 2",
    "21-tsv-as-dependencies: parse pairs.tsv -m english": f"{REFUSED}a table of 3 columns",
    "21-tsv-as-dependencies: parse reviews.txt -m english": f"{REFUSED}a table of 3 columns",
    "22-one-word-per-line: parse a.vrt -m english": f"{REFUSED}one word per line with 3 columns",
    "22-one-word-per-line: draw chunk.txt": f"{REFUSED}one word per line with 3 columns",
    "22-one-word-per-line: parse tt.txt -m english": f"{REFUSED}one word per line with 3 columns",
    "23-childes: convert a.cha --format text": "do you want the red ball ?\nball .\n",
    "25-wikiextractor: parse bllip.txt -m english": f"{REFUSED}markup",
    "25-wikiextractor: search NP ep.txt -m english": f"{REFUSED}markup",
    "25-wikiextractor: parse wiki_00 -m english --tokenizer english": f"{REFUSED}markup",
    "27-square-brackets: draw a.txt": f"{REFUSED}lists or trees in square brackets",
    "27-square-brackets: draw b.txt": f"{REFUSED}lists or trees in square brackets",
    "27-square-brackets: draw c.txt": f"{REFUSED}lists or trees in square brackets",
    "28-withheld-text: parse a.conllu -m english": f"{NOTED}100% of the words are _",
    "29-hebrew-acronyms: convert a.txt --tokenizer unicode --format text": (
        'הרמטכ"ל של צה"ל דיבר .\nיו״ר הוועדה דיבר .\n'
    ),
    "30-invisible-words: convert web.txt --tokenizer unicode --format text": "hello world\nabc def ghi\n",
    "32-other-spaces: parse a.txt -m english": f"{REFUSED}separated by U+3000",
    "32-other-spaces: parse b.txt -m english": f"{REFUSED}separated by U+00A0",
    "33-nfc-nfd: eval --gold nfc.mrg nfd.mrg": f"{REFUSED}Unicode normalization (NFC, NFD)",
    "33-nfc-nfd: search 'N < Käfer' nfd.mrg": "nfd.mrg:1\t(S (NP (D Der) (N Ka\u0308fer)) (VP (V lebt)))\n",
    "35-conllu-comments-without-words: convert a.conllu --format conllu": f"{NOTED}comments of a sentence without",
    "37-negra-without-format: convert a.export": "(VROOT (pp (vz Op) (n zon)) (let .))\n",
    "39-tregex-head: search 'S < (VP <# MD|VBD)' a.mrg": f"{REFUSED}<# is an operator of Tregex",
    "39-tregex-head: search '@VP < MD' a.mrg": f"{REFUSED}@VP is an operator of Tregex",
    "40-comment-inside-sentence: convert a.conllu --format text": "Cats sleep\n",
    "40-comment-inside-sentence: convert b.conllu --format text": "Cats sleep .\n",
}
COLUMNS = "".join(f"{i}\t{word}\t_\tX\t_\t_\t{i - 1}\tdep\t_\t_\n" for i, word in enumerate("ab", 1)) + "\n"
TREE = "(S (D the) (N cat) (V sat))\n"
TEXT_OF_TREE = "the cat sat\n"
#: name of a file and its text -> the output of `convert --format text`, or a part of the message
EXAMPLES = {
    ("a.psd", "( (IP-MAT (NP (N la@rl=DMF@l=le)) (VB vient@l=venir)))\n"): "la vient\n",
    ("a.psd", "( (IP-MAT (N a-a) (V b-b)) (ID X,.1) (CODE {x}))\n"): "a b\n",
    ("a.mrg", "(S (NP dog-dog) (VP sees-see it-it) .-.)\n" * 3): f"{REFUSED}CorpusSearch with lemmas",
    ("a.mrg", "(a / ask-01 :ARG0 (b / boy) :ARG1 (c / cat))\n"): f"{REFUSED}AMR",
    ("a.mrg", "(S (NP NP) (VP VP (NP NP)))\n"): f"{REFUSED}the leaves are labels",
    ("a.auto", "ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1\n(<T NP 0 2> (<L NP/N DT DT the NP/N>) )\n"): f"{REFUSED}CCGbank",
    ("a.txt", "the/DT cat/NN sat/VBD ./.\n"): f"{REFUSED}words with tags, word/TAG",
    ("a.txt", "the_DT cat_NN sat_VBD ._.\n"): f"{REFUSED}words with tags, word_TAG",
    ("a.txt", "@UTF8\n*MOT:\tthe ball .\n%mor:\tdet|the n|ball .\n"): f"{REFUSED}--input-format chat",
    ("a.txt", "1\n00:00:01,000 --> 00:00:02,000\nHello there.\n\n"): f"{REFUSED}subtitles",
    ("a.txt", "\\ref 1\n\\tx Saya makan\n\\ft I eat\n"): f"{REFUSED}field markers",
    ("a.txt", "A\nman\nleft\n.\nThe\nend\n.\nNo\none\ncame\n.\n"): f"{REFUSED}one word per line",
    ("a.txt", "[ The/DT cat/NN ]\nsat/VBD on/IN\n[ the/DT mat/NN ]\n./.\n"): f"{REFUSED}words with tags, word/TAG",
    ("a.txt", "STA:fcl\n=SUBJ:np\n==>N:art('o') O\n==H:n('gato') gato\n=P:v-fin('dormir') dorme\n"): f"{REFUSED}VISL",
    ("a.txt", "det(cat-2, The-1)\nnsubj(sat-3, cat-2)\nroot(ROOT-0, sat-3)\n"): f"{REFUSED}typed dependencies",
    ("a.mrg", "(S (NP the_DT cat_NN) (VP sat_VBD))\n"): f"{REFUSED}leaves word_TAG",
    ("a.conll", "#begin document (x); part 000\nx 0 0 The DT\n"): f"{REFUSED}CoNLL-2012",
    ("a.conllup", "# global.columns = ID FORM\n1\ta\n\n"): f"{REFUSED}CoNLL-U Plus",
    ("a.conll", "# text = a b\n" + COLUMNS): "a b\n",
    ("a.conll", "1\ta\tX\t0\n\n"): f"{REFUSED}CoNLL-2003",
    ("a.mrg", "(TOP )\n(S (A a) (B b))\n"): "\na b\n",
    ("a.mrg", f"{TREE * 10}{'(S 0=a 1=b)' * 90}\n"): f"{REFUSED}discbracket",
    ("a.mrg", f"{TREE * 1001}{'(S the/DT cat/NN)' * 4000}\n"): f"{TEXT_OF_TREE * 1000}{REFUSED}leaves word/TAG",
    ("a.mrg", f"{TREE * 9000}( (CODE x))\n"): f"{TEXT_OF_TREE * 1000}{REFUSED}--input-format corpussearch",
    ("a.mrg", "(S (NP the|DT cat|NN) (VP sat|VBD))\n"): f"{REFUSED}leaves word|TAG",
    ("a.mrg", "(S (NP the-1 cat-2) (VP sat-3))\n"): f"{REFUSED}positions of words",
    ("a.mrg", "(S (D _) (N _) (V _))\n"): f"{REFUSED}without its words",
    ("a.mrg", "(S NP (VP VBD NP))\n"): f"{REFUSED}the leaves are labels",
    ("a.txt", "".join(f"(dog{i} (saw{i} cat{i}))\n" for i in range(50))): f"{REFUSED}the labels look like words",
    ("a.txt", "((the cat) (sat (on (the mat))))\n"): f"{NOTED}if every token is a word, give --input-format bare",
    ("a.txt", "(it (saw (dog)))\n"): f"{REFUSED}if every token is a word, give --input-format bare",
    ("a.mrg", f"{TREE * 3}(cat)\n"): f"{NOTED}'cat' has no tag",
    ("a.mrg", COLUMNS): f"{REFUSED}the content is conllu, not brackets",
    ("a.conllu", TREE): f"{REFUSED}the content is brackets, not conllu",
    ("a.mrg", "id,text\n1,The cat\n2,The dog\n"): f"{REFUSED}a table of 2 columns",
    ("a.mrg", "<!DOCTYPE html>\n<html>\n"): f"{REFUSED}this is HTML",
    ("a.conllu", "version https://git-lfs.github.com/spec/v1\n"): f"{REFUSED}git lfs pull",
    ("a.txt", "A: hello there\nB: hi\nA: bye\n"): f"{REFUSED}names of speakers (100% of the lines, such as 'A: hello",
    ("a.txt", "INT: So tell me.\nand go on\nP1: Well.\nINT: Yes?\n"): f"{REFUSED}names of speakers (75%",
    ("a.txt", "[Speaker 1] Yes.\n[Speaker 2] No.\n"): f"{REFUSED}names of speakers",
    ("a.txt", "[00:01:02] Hello there.\n[00:01:05] Yes.\n"): f"{REFUSED}lines with times",
    ("a.txt", "12/05/2020, 10:30 - Ann: hello\n12/05/2020, 10:31 - Bob: hi\n"): f"{REFUSED}lines with times",
    ("a.txt", "the|DT|the cat|NN|cat sat|VBD|sit\n"): f"{REFUSED}word|TAG",
    ("a.txt", "EU B-ORG\nrejects O\ncall O\n. O\n"): f"{REFUSED}one word per line with 2 columns",
    ("a.txt", "a b ||| c d\ne f ||| g h\ni j ||| k l\n"): f"{REFUSED}a table of 4 columns between vertical bars",
    ("a.txt", "word,gloss,pos\nev,house,n\nsu,water,n\n"): f"{REFUSED}a table of 3 columns between commas",
    ("a.txt", "word\tgloss\tpos\n" + "ev\thouse\tn\n" * 9): f"{REFUSED}a table of 3 columns between tabs",
    ("a.txt", "word;gloss\n" + "ev;house\n" * 9): f"{REFUSED}a table of 2 columns between semicolons",
    ("a.csv", '"The dog barked."\n"He said ""no""."\n'): f"{REFUSED}one column in quotation marks",
    ("a.txt", "".join(f"1.{i} The cat {i}\n" for i in range(1, 7))): f"{REFUSED}begin with their numbers",
    ("a.tsv", "word\tgloss\nev\thouse\n"): f"{REFUSED}a table of 2 columns between tabs",
    **{
        ("a.txt", "".join(f"{form.format(i)} The cat {i}\n" for i in range(1, 6))): f"{REFUSED}begin with their numbers"
        for form in ("{}", "{}.", "({})", "[{}]", "{}:\t", "story.{:03}", "ex{})", "#{}")
    },
    ("a.txt", "<p>One .</p>\n<p>Two .</p>\n"): f"{REFUSED}markup",
    ("a.txt", "\\documentclass{article}\nHello .\n"): f"{REFUSED}LaTeX",
    ("a.txt", "{'words': ['a', 'b']}\n{'words': ['c']}\n"): f"{REFUSED}objects of Python",
    ("a.txt", "ab\u1361cd\u1361ef\n"): f"{REFUSED}separated by U+1361",
}
#: text that begins like another format, and is text
NEAR_MISSES = (
    "He said : go home .\nShe said : no .\n",
    "[\nApplause\n]\nThe end .\n",
    "{\nsome text\n}\n",
    '[ "Yes" : he said ]\nNo .\n',
    '{"words": ["a"]}\nThis line is prose .\nThis one , too .\n',
    "{}\nfoo bar\nbaz qux\n",
    "[1] Smith said so .\n[2] Jones did not .\n",
    "[laughs] yes .\n[sighs] no .\n",
    "#1:1.[0] S(a:b:c)#。\nprose here .\nmore prose .\n",
    "#BOS is a town\nyes it is\n",
    "#FORMAT is a word\nok\n",
    "# text me later\n# text him\n",
    "%% a remark\ntext here\n",
    "(Laughter (loud laughter) continues)\nThe chair spoke .\nAnd so on .\n",
    "(He (she) said) yes .\nNo .\nYes .\n",
    "(Note (see below that this goes on and on and never closes\nThe next line .\n",
    "(a (b\nc d e\n",
    "(1) a cat sat\n(2) a dog ran\n",
    "1 word word\n2 word word\n3 word word\n",
    "1. The cat\n2. The dog\n",
    "1\tThe\tcat\tsat\ton\tthe\tmat\ttoday\tand\tslept\n",
    "1\t2\t3\n4\t5\t0\n7\t8\t9\n",
    "good\tpos\t1\nbad\tneg\t0\nok\tpos\t1\n",
    "3 cats\n4 dogs\n9 hens\n1 cow\n2 pigs\n7 geese\n",
    "ev\thouse\nsu\twater\n",
    "well,then\nyes,no\n",
    "<unk> is here\nyes .\n",
    "a < b and b > c\nif x < y > z\n",
    "<b>Bold</b> text\nplain text\nmore text\n",
    "The result : it works .\nHe said : yes .\nWe left .\n",
    "Note: this is fine .\nWe left early .\nThey stayed .\n",
    "Subject: hello\n",
    "ka=na-ti mi=lo-ra\nta=ka-ra lo=mi\n",
    "http://a.b/c x/y\n",
    "the\u00a0cat sat\u00a0on the mat .\n",
)
PUBLISHED = (
    "const_other/icepahc/*.psd",
    "const_other/keyaki/*.psd",
    "ud/*English-PUD/*.conllu",
    "ud/*Vietnamese*/*dev*.conllu",
)


def check(call: Caller, arguments: list[str], expected: str) -> None:
    code, out, err = call(*arguments)
    before, is_refused, message = expected.partition(REFUSED)
    if is_refused:
        assert code in (1, 2)
        assert out.startswith(before) if before else out == ""
        assert message in err
    else:
        assert code == 0, err
        if expected.startswith(NOTED):
            assert expected.removeprefix(NOTED) in out + err
        else:
            assert out == expected


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases of ../shared/cases are not here")
@pytest.mark.parametrize("key", TABLE)
def test_published_case(key: str, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _, command = key.partition(": ")
    monkeypatch.chdir(CASES / folder)
    check(call, shlex.split(command), TABLE[key])


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_example(name: str, text: str, call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    check(call, ["convert", name, "--format", "text"], EXAMPLES[name, text])


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_text_that_begins_like_another_format(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    assert detect(path) is TEXT


def test_text_between_other_spaces_is_tokenized(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a\u3000b\u3000c\n", encoding="utf-8")
    assert call.result("convert", "a.txt", "--format", "text", "--tokenizer", "unicode") == "a b c\n"


def test_trees_of_a_pipe_are_refused_before_the_first(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"(S (NP 0=She) (VP 1=left))\n" * 20
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    check(call, ["convert", "-", "--format", "text"], f"{REFUSED}discbracket")


def test_declared_format_is_read_as_it_is(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mrg").write_text("(S 0=She 1=left)\n", encoding="utf-8")
    Path("a.txt").write_text("<s> a dog </s>\n", encoding="utf-8")
    assert call.result("convert", "a.mrg", "--input-format", "brackets", "--format", "text") == "0=She 1=left\n"
    assert call.result("convert", "a.txt", "--input-format", "text", "--format", "text") == "<s> a dog </s>\n"


@pytest.mark.skipif(not DATA.is_dir(), reason="the treebanks of ../shared/data are not here")
@pytest.mark.parametrize("pattern", PUBLISHED)
def test_words_equal_those_of_another_reader(pattern: str) -> None:
    paths = sorted(DATA.glob(pattern))
    assert paths
    for path in paths:
        is_conllu, has_lemmas = path.suffix == ".conllu", "icepahc" in pattern
        words = conllu_words(path) if is_conllu else corpussearch_words(path, has_lemmas=has_lemmas)
        notes: list[str] = []
        sentences = read_sentences([path], input_options=InputOptions(notify=notes.append))
        assert [list(sentence.words) for sentence in sentences if sentence.words] == words
        assert notes == []
