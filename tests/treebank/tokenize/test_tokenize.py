"""Raw text into sentences and words: rules of Unicode, contractions, scripts without spaces."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reference import SHARED
from tests.support.segmentation import agreement, raw_gold, segmentation_spans
from treebank.base.errors import SynparseError
from treebank.core.sentence import Annotation
from treebank.io.conllu import read_conllu
from treebank.tokenize import TOKENIZATIONS, tokenization, tokenize
from treebank.tokenize.words import sentence_spans

SPLITS = [
    "It rained. | We stayed in.",
    "Mr. Smith met Dr. J. R. Jones at 5 p.m. in Washington.",
    "He left the U.S. in 1999. | She came back.",
    "He left the U.S. | The others stayed.",
    "Pi is 3.14 or so. | Really? | Yes! | Wow!!",
    '"Stop!" he said. | "I will not." | She ran.',
    "(It was late.) | They slept.",
    "Wait... | What was that? | Well … maybe.",
    "See Fig. 3 and pp. 12-14 of vol. 2, no. 5.",
    "Acme Inc. Chairman Lee spoke. | Acme Inc. | The end.",
    "so did I. | Then we left.",
    "1. Introduction is short.",
    "We saw e.g. Paris, i.e. France, etc. and so on.",
    "今日は雨。|明日は晴れ！|本当？",
    "彼は「雨だ。」|と言った。",
    "One line without a stop",
    "Er kam am 3. Oktober 1990 v. Chr. an. | Das war es.",
    "यह है। | क्या तुम समझे? | हाँ!",
    "هل تفهم؟ | نعم۔ | لا.",
    "ሰላም ነው። | ደህና ነኝ።",
    "Սա է։ | Լավ։",
    "ဒါပဲ။ | ဟုတ်ကဲ့။",
    "Τι είναι αυτό; | Τίποτα.",
    "எம். ஜி. ராமச்சந்திரன் வந்தார். | அவர் போனார்.",
    "Visit www.example.org now. | Write to a.b@c.de today.",
]


def split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize("marked", SPLITS)
def test_sentence_splitter(marked: str) -> None:
    sentences = [part.strip() for part in marked.split("|")]
    assert split_sentences(marked.replace(" | ", " ").replace("|", "")) == sentences


@given(st.text())
def test_sentences_contain_all_characters(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_blank_text_has_no_sentences() -> None:
    assert split_sentences(" \t") == []


def test_long_line_of_names_takes_linear_time() -> None:
    began = time.perf_counter()
    assert len(split_sentences("Dr. Xu " * 20_000)) == 1
    assert time.perf_counter() - began < 20  # quadratic time would need minutes


WORDS = [
    ("unicode", "See https://example.com/a?b=c, or a.b@c.de!", "See https://example.com/a?b=c , or a.b@c.de !"),
    ("unicode", "(http://x.org/y).", "( http://x.org/y ) ."),
    ("unicode", "It cost $3.50, 1,000.5 or 50% on 12/05/2004.", "It cost $ 3.50 , 1,000.5 or 50 % on 12/05/2004 ."),
    ("unicode", "The well-known U.S. Sen. O'Neil…", "The well-known U.S. Sen. O'Neil …"),
    ("unicode", "Wait... what?! -- no", "Wait ... what ?! -- no"),
    ("unicode", "यह है।", "यह है ।"),
    ("unicode", "هل تفهم؟", "هل تفهم ؟"),
    ("unicode", "Güldü. USA:n", "Güldü . USA:n"),
    ("unicode", "e\u0301te\u0301 👩\u200d👩\u200d👧 don’t", "e\u0301te\u0301 👩\u200d👩\u200d👧 don’t"),
    ("english", '"I can\'t," she’s said.', '" I ca n\'t , " she ’s said .'),
    ("english", "It's the dogs' bone; cannot, gonna.", "It 's the dogs ' bone ; can not , gon na ."),
    ("english", "``Old'' and \"new\" quotes", "`` Old '' and \" new \" quotes"),
    ("unicode", "L'homme dell’arte il-kelb м'ята", "L'homme dell’arte il-kelb м'ята"),
    ("unicode", "ka=na-ti mi=lo x==y a=1 ka~kata ~5", "ka=na-ti mi=lo x == y a = 1 ka~kata ~ 5"),
    ("unicode", "ሰላም፡ለዓለም፡ሁሉ።", "ሰላም ለዓለም ሁሉ ።"),
    ("french", "L'homme qu’il aime, aujourd'hui.", "L' homme qu’ il aime , aujourd'hui ."),
    ("french", "j'l'ai l'80%, quelqu'un", "j' l' ai l' 80 % , quelqu'un"),
    ("french", "Va-t-il? Donne-le-moi, peut-être.", "Va -t-il ? Donne -le -moi , peut-être ."),
    ("italian", "C'è un po' dell’arte l'80%", "C' è un po' dell’ arte l' 80 %"),
    ("maltese", "Il-kelb f'dar l-għajn tat-tifel xi-ħaġa", "Il- kelb f' dar l- għajn tat- tifel xi-ħaġa"),
    ("characters", "我有3本iPhone书カナ。", "我 有 3 本 iPhone 书 カ ナ 。"),
    ("characters", "ภาษาไทย 2.5", "ภ า ษ า ไ ท ย 2.5"),
]


@pytest.mark.parametrize(("rule", "text", "words"), WORDS)
def test_words(rule: str, text: str, words: str) -> None:
    assert tokenize(text, rule) == tuple(words.split())


SEGMENTED = [
    ("icu", "ภาษาไทยเป็น https://a.de/ไทย", "ภาษา ไทย เป็น https://a.de/ไทย"),
    ("jieba", "我爱北京天安门，3.5元", "我 爱 北京 天安门 ， 3.5 元"),
    ("janome", "すもももももももものうち。", "すもも も もも も もも の うち 。"),
    ("pythainlp", "ภาษาไทยเป็นภาษา 3.5", "ภาษาไทย เป็น ภาษา 3.5"),
]


@pytest.mark.parametrize(("rule", "text", "words"), SEGMENTED)
def test_segmenters(rule: str, text: str, words: str) -> None:
    pytest.importorskip({"icu": "icu4py"}.get(rule, rule))
    assert tokenize(text, rule) == tuple(words.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\u200b world, hello\u200bworld", ["hello", "world", ",", "hello", "world"]),
        ("abc \u200fdef \u00adghi \u2060 \ufeff \u202a", ["abc", "def", "ghi"]),
        ("a\u2060b co\u00adop", ["a\u2060b", "co\u00adop"]),
        ("👩\u200d👩\u200d👧 ok", ["👩\u200d👩\u200d👧", "ok"]),
        ('הרמטכ"ל של "צה"ל"', ['הרמטכ"ל', "של", '"', 'צה"ל', '"']),
    ],
)
def test_invisible_characters_and_hebrew_quotation_marks(text: str, words: list[str]) -> None:
    for rule in ("unicode", "english", "characters"):
        assert list(tokenize(text, rule)) == words


@given(st.text(st.sampled_from("abtil\"'`,. ()$-…。我カ่ก\u200d\u0301N3:/"), max_size=40))
def test_words_are_pieces_of_the_text(text: str) -> None:
    for rule in ("unicode", "english", "characters", "french", "italian", "maltese"):
        surfaces = list(tokenization(rule).surfaces(text))
        words = [surface.text[start:end] for surface in surfaces for start, end in surface.spans]
        assert "".join(words).replace("\u200d", "") == "".join(text.split()).replace("\u200d", "")
        assert all(word and not any(map(str.isspace, word)) for word in words)


def test_unknown_rule_suggests_the_nearest() -> None:
    with pytest.raises(SynparseError, match="did you mean 'unicode'"):
        tokenization("unicod")
    assert "english" in TOKENIZATIONS


def test_missing_package_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pythainlp.tokenize", None)
    tokenization.cache_clear()
    with pytest.raises(SynparseError, match=r"pip install 'synparse\[pythainlp\]'"):
        tokenization("pythainlp")


def test_gold_spans_of_ranges_and_spacing() -> None:
    rows = [("1-2", "don't"), ("1", "do"), ("2", "n't"), ("3-4", "im"), ("3", "in"), ("4", "dem"), ("5", ".")]
    misc = {"3-4": "SpaceAfter=No"}
    cells = tuple((number, form, *"_______", misc.get(number, "_")) for number, form in rows)
    gold = raw_gold([Annotation(("# newpar",), cells)])
    assert gold.paragraphs == ("don't im.",)
    assert gold.tokens == {(0, 5), (5, 7), (7, 8)}
    assert gold.words == {(0, 2), (2, 5), (5, 7), (7, 8)}
    assert gold.sentences == {(0, 8)}


# nltk's Penn rule and the splitter before gave 98.62 and 99.70 on the first, 98.05 and 90.88 on the second
AGAINST = [
    ("English-PUD/en_pud-ud-test", "english", 99.0, 99.6),
    ("German-PUD/de_pud-ud-test", "unicode", 98.3, 98.8),
    ("Tamil-TTB/ta_ttb-ud-test", "unicode", 99.2, 95.0),
]


@pytest.mark.parametrize(("treebank", "rule", "words", "sentences"), AGAINST)
def test_against_a_treebank(treebank: str, rule: str, words: float, sentences: float) -> None:
    path = SHARED / "data" / "ud" / f"UD_{treebank}.conllu"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    gold = raw_gold(s.annotation for s in read_conllu(str(path), keep_annotation=True) if s.annotation)
    cut = tokenization(rule)
    surfaces = [surface for text in gold.paragraphs for surface in cut.surfaces(text)]
    spans = segmentation_spans([s.text[start:end] for start, end in s.spans] for s in surfaces)
    assert agreement(gold.words, spans[0]).f1 >= words
    assert agreement(gold.sentences, spans[1]).f1 >= sentences
