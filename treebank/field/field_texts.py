"""Texts of field linguists and transcripts: FLEx, Pangloss, Toolbox, ELAN, CHAT and subtitles.

Glosses, morphemes, parts of speech and free translations are kept as in CoNLL-U: in XPOS, in MISC and in comments.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from itertools import chain
from xml.etree.ElementTree import Element

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.sentence import Annotation, Location, Sentence
from treebank.graphs.xml_texts import read_elements
from treebank.io.conllu import BLANK
from treebank.io.lines import open_lines
from treebank.io.source import AnyPath, Source
from treebank.io.text import split_words
from treebank.tokenize import tokenization


def glossed(
    words: Sequence[str],
    location: Location,
    *,
    columns: Mapping[str, Sequence[str]],
    translations: Mapping[str, str] | None = None,
    reference: str = "",
) -> Sentence:
    """A sentence with ``columns`` of one text for each word, "" for none, and translations by language.

    The column ``XPOS`` is that of CoNLL-U. The others become entries of MISC, translations comments ``# text_en = …``,
    and ``reference``, its name in the file, the comment ``# sent_id = …``.
    """
    forms = [BLANK.join(word.split()) for word in words]
    entries = {name: [_cell(text) for text in texts] for name, texts in columns.items()}
    tags = entries.pop("XPOS", [])
    rows = []
    for i, form in enumerate(forms):
        misc = [f"{name}={texts[i]}" for name, texts in sorted(entries.items()) if texts and texts[i]]
        tag = tags[i] if tags else ""
        rows.append((str(i + 1), form.replace(BLANK, " "), "_", "_", tag or "_", *"____", "|".join(misc) or "_"))
    comments = [f"# sent_id = {'_'.join(reference.split())}"] if reference.strip() else []
    comments += [f"# text_{language} = {' '.join(text.split())}" for language, text in (translations or {}).items()]
    return Sentence(tuple(forms), location=location, annotation=Annotation(tuple(comments), tuple(rows)))


def _levels(name: str, of_words: Sequence[str], inner: str, of_morphemes: Sequence[str]) -> dict[str, Sequence[str]]:
    """The column ``name`` of words, with the texts of morphemes where a word has none.

    If words have texts of their own, those of all morphemes are in the column ``inner`` as well.
    """
    texts = [word or morphemes for word, morphemes in zip(of_words, of_morphemes, strict=True)]
    return {name: texts} | ({inner: of_morphemes} if texts != of_morphemes and any(of_morphemes) else {})


def _cell(text: str) -> str:
    return "_".join(text.split()).replace("|", "/")


def sentences_of_text(text: str, rule: str, location: Location, name: str = "") -> Iterator[Sentence]:
    """The sentences of a text without glosses, split at spaces or by a ``rule`` of `treebank.tokenize`.

    They have empty columns of CoNLL-U, like sentences with glosses. The first one has the ``name`` of the text.
    """
    if not rule:
        yield glossed(split_words(" ".join(text.split())), location, columns={}, reference=name)
        return
    for surface in tokenization(rule).surfaces(" ".join(text.split())):
        words = tuple(surface.text[start:end] for start, end in surface.spans)
        spaces = {"SpaceAfter": ["" if is_spaced else "No" for is_spaced in surface.spaced()]}
        sentence = glossed(words, location, columns=spaces, reference=name)
        yield replace(sentence, words=words, surface=replace(surface, is_in_file=False))
        name = ""


_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_flextext(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The phrases of a FLEx text: words and punctuation with glosses and morphemes, and free translations.

    A phrase that is not divided into words is split at spaces, or by a ``rule`` of `treebank.tokenize`.
    """
    source = Source.of(path)
    for line, phrase in read_elements(source, "phrase"):
        location = Location(source.path, line)
        words = [word for word in phrase.iter("word") if _word(word)]
        items = phrase.findall("item")
        translations = {  # the free translation in each language, or else the literal one
            item.get("lang", "und"): item.text
            for kind in ("lit", "gls")
            for item in items
            if item.get("type") == kind and (item.text or "").strip()
        }
        name = _item(phrase, "segnum")
        if not words:
            yield from sentences_of_text(_item(phrase, "txt"), rule, location, name)
            continue
        yield glossed(
            list(map(_word, words)),
            location,
            reference=name,
            columns={
                "MSeg": [_morphs(word, "txt") for word in words],
                **_levels(
                    "Gloss", [_item(word, "gls") for word in words], "MGloss", [_morphs(word, "gls") for word in words]
                ),
                **_levels(
                    "XPOS", [_item(word, "pos") for word in words], "MPOS", [_morphs(word, "msa") for word in words]
                ),
            },
            translations={name: text for name, text in translations.items() if text},
        )


def _word(word: Element) -> str:
    """The text of a word or, if there is none, of its morphemes."""
    return _item(word, "txt", "punct") or _morphs(word, "txt").replace("-", "")


def _item(element: Element, *types: str) -> str:
    """The text of the first item of one of the ``types``."""
    return next((item.text or "" for item in element.findall("item") if item.get("type") in types), "").strip()


def _morphs(word: Element, kind: str) -> str:
    """The items of the morphemes of a word, joined by hyphens unless they have their own."""
    return _joined([_item(morph, kind) for morph in word.iter("morph")])


def _joined(parts: list[str]) -> str:
    result = ""
    for part in filter(None, parts):
        glue = "" if not result or result[-1] in "-=" or part[0] in "-=" else "-"
        result += glue + part
    return result


def read_pangloss(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The sentences of a Pangloss text: words with glosses and morphemes, and free translations.

    A sentence that is not divided into words is split at spaces, or by a ``rule`` of `treebank.tokenize`.
    """
    source = Source.of(path)
    for line, sentence in read_elements(source, "S"):
        location = Location(source.path, line)
        words = [word for word in sentence.iter("W") if _forms(word, "FORM")]
        name = sentence.get("id", "")
        if not words:
            yield from sentences_of_text(sentence.findtext("FORM") or "", rule, location, name)
            continue
        translations = {
            item.get(_LANGUAGE, item.get("xml:lang", "und")): item.text for item in sentence.findall("TRANSL")
        }
        yield glossed(
            [_forms(word, "FORM").replace("-", "") for word in words],
            location,
            reference=name,
            columns={
                "MSeg": [_parts(word, "FORM") or _forms(word, "FORM") for word in words],
                "XPOS": [
                    word.get("class") or _joined([morph.get("class", "") for morph in word.iter("M")]) for word in words
                ],
                **_levels(
                    "Gloss",
                    [(word.findtext("TRANSL") or "").strip() for word in words],
                    "MGloss",
                    [_parts(word, "TRANSL") for word in words],
                ),
            },
            translations={name: text for name, text in translations.items() if text},
        )


def _forms(word: Element, name: str) -> str:
    """The text of a word or, if there is none, of its morphemes."""
    return (word.findtext(name) or "").strip() or _parts(word, name)


def _parts(word: Element, name: str) -> str:
    """The texts of the morphemes of a word, joined."""
    return _joined([(morph.findtext(name) or "").strip() for morph in word.iter("M")])


_TIMES = re.compile(r"[0-9:.,]+ +--> ")
_MARKUP = re.compile(r"</?[A-Za-z0-9][^<>]*>|\{(?:\\|[A-Za-z]:)[^{}]*\}")
_CHAT_CODES = re.compile(
    r"""\x15[^\x15]*\x15 | \[[^\]]*\] | \((?:\.+|[\d:.]+)\)  # times, codes of all kinds, and pauses
    | (?<![^\s<]) (?: [&+]\S+ | 0(?:[^\W\d]\S*)?(?!\S) )  # sounds, special ends, and omitted words
    | (?<![^\s<])(?:xxx|yyy|www)(?![^\s>]) | (?<=\w)@\S+ | [<>()]""",
    re.VERBOSE,
)


def read_elan(path: AnyPath, *, rule: str = "", notify: Callable[[str], None] = ignore) -> Iterator[Sentence]:
    """The annotations of the first tier of an ELAN file that has any. ``notify`` is called with its name."""
    source = Source.of(path)
    first = ""
    names: list[str] = []
    for line, tier in read_elements(source, "TIER"):
        texts = [value.text for value in tier.iter("ANNOTATION_VALUE") if value.text and value.text.strip()]
        names += [tier.get("TIER_ID", "")] * bool(texts)
        if texts and len(names) == 1:
            first = names[0]
            for text in texts:
                yield from sentences_of_text(text, rule, Location(source.path, line))
    if len(names) > 1:
        notify(f"{source.path}: the tier {first!r} is read, and {len(names) - 1} others are left out: {names[1:]}")


def read_chat(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The utterances of a CHAT transcript, without headers, dependent tiers and codes."""
    source = Source.of(path)
    number, text = 0, ""
    for line_number, line in open_lines(source):
        if line.startswith("\t"):
            text += " " + line if number else ""
            continue
        yield from _utterance(text, rule, Location(source.path, number))
        is_utterance = line.startswith("*")
        number, text = (line_number, line.partition(":")[2]) if is_utterance else (0, "")
    yield from _utterance(text, rule, Location(source.path, number))


def _utterance(text: str, rule: str, location: Location) -> Iterator[Sentence]:
    if plain := re.sub(r"(?<=\w)\((\w+)\)|\((\w+)\)(?=\w)", r"\1\2", text).strip():
        plain = " ".join(_CHAT_CODES.sub("", plain).split())
        if any(map(str.isalnum, plain)):
            yield from sentences_of_text(plain, rule, location)


def read_subtitles(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The subtitles of a file, each as one text, without numbers, times and markup. Entities become characters.

    An empty line ends a subtitle of WebVTT, but may be a part of one of SubRip, which the next time ends.
    """
    source = Source.of(path)
    number, parts, is_webvtt = 0, list[str](), False
    for line_number, line in chain(open_lines(source), [(0, None)]):
        is_webvtt = is_webvtt or (line_number == 1 and (line or "").startswith("WEBVTT"))
        is_time = line is not None and _TIMES.match(line) is not None
        if number and (is_time or line is None or (is_webvtt and not line.strip())):
            if is_time and parts and parts[-1].strip().isdecimal():
                del parts[-1]  # the number of the next subtitle
            yield from sentences_of_text(unescape(" ".join(parts)), rule, Location(source.path, number))
            number, parts = 0, []
        elif number and line and line.strip():
            parts.append(_MARKUP.sub("", line))
        if is_time:
            number, parts = line_number, []


_FIELD = re.compile(r"\\([^\s\\]+)(?:\s+(.*))?")
_BEGINS = ("ref", "id")
_TEXT = ("tx", "t")
_TRANSLATION = ("ft", "f", "free")
#: columns of CoNLL-U -> the names of their fields
_FIELDS = {"MSeg": ("mb", "mr", "m"), "Gloss": ("ge", "gl", "gls", "g"), "XPOS": ("ps", "pos", "p")}


def read_toolbox(path: AnyPath, *, rule: str = "", notify: Callable[[str], None] = ignore) -> Iterator[Sentence]:
    """The sentences of a text: a record begins with ``\\ref`` or with ``\\tx`` after a translation.

    In a file without either, it ends with an empty line; otherwise, an empty line can divide a long sentence.
    Glosses, morphemes and parts of speech are kept if there are as many as words; ``notify`` is called at the end with
    the number of sentences that lose some. Morphemes with a hyphen or ``=`` at an edge join the word next to them. A
    ``rule`` of `treebank.tokenize` divides punctuation from the words. Raises TreebankError if there is no text.
    """
    source = Source.of(path)
    lines = [(number, line, _FIELD.fullmatch(line.rstrip())) for number, line in open_lines(source)]
    fields = dict.fromkeys(match[1] for _, _, match in lines if match)
    text = next((name for name in _TEXT if name in fields), "")
    if fields and not text:
        raise TreebankError(source.path, 0, f"no field \\tx or \\t with the words, but {', '.join(fields)}")
    count, example, unfit = 0, 0, list[str]()
    for record, line in _records(lines, text):
        sentence, lost = _sentence(record, text, rule, Location(source.path, line))
        if lost:
            count, example, unfit = count + 1, example or line, unfit or lost
        if sentence:
            yield sentence
    if count:
        message = f"sentences lose fields with more or fewer parts than words: {count:,}, such as \\{unfit[0]}"
        notify(f"{source.path}:{example}: {message}")


def _records(
    lines: Sequence[tuple[int, str, re.Match[str] | None]], text: str
) -> Iterator[tuple[dict[str, list[str]], int]]:
    """The fields of each record, with the line of its first field ``text``."""
    has_ends = any(match and match[1] in (*_BEGINS, *_TRANSLATION) for _, _, match in lines)
    record: dict[str, list[str]] = defaultdict(list)
    first, name = 0, ""
    for number, line, match in lines:
        if match is not None:
            name = match[1]
            if name in _BEGINS or (name == text and any(key in record for key in _TRANSLATION)):
                yield record, first
                record = defaultdict(list)
            first = number if name == text and text not in record else first
            record[name].append(match[2] or "")
        elif line.strip() and name:
            record[name].append(line)
        elif not line.strip() and not has_ends:
            yield record, first
            record = defaultdict(list)
    yield record, first


def _sentence(
    record: Mapping[str, Sequence[str]], text: str, rule: str, location: Location
) -> tuple[Sentence | None, list[str]]:
    """The sentence of a record, if it has words, and the names of its fields that do not fit the words."""
    words = " ".join(record.get(text, ())).split()
    if not words:
        return None, []
    columns, lost = dict[str, Sequence[str]](), list[str]()
    for column, keys in _FIELDS.items():
        key = next((key for key in keys if key in record), "")
        groups = _groups(record[key]) if key else []
        columns[column] = groups if len(groups) == len(words) else []
        lost += [key] * (len(groups) not in (0, len(words)))
    if rule:
        words, columns = _divided(words, columns, rule)
    translation = next((" ".join(record[key]) for key in _TRANSLATION if record.get(key)), "")
    translations = {"en": translation} if translation.strip() else {}
    name = next((record[key][0] for key in _BEGINS if key in record), "")
    return glossed(words, location, columns=columns, translations=translations, reference=name), lost


def _divided(
    words: Sequence[str], columns: Mapping[str, Sequence[str]], rule: str
) -> tuple[list[str], dict[str, Sequence[str]]]:
    """The words without the punctuation at their edges, which become words of their own, without entries in columns."""
    parts, origins = list[str](), list[int]()  # of each part, the index of its word, or -1 for punctuation
    spaces: list[str] = []
    for i, word in enumerate(words):
        pieces = [each.text[start:end] for each in tokenization(rule).surfaces(word) for start, end in each.spans]
        cores = [k for k, piece in enumerate(pieces) if any(map(str.isalnum, piece))] or [0, len(pieces) - 1]
        before, after = pieces[: cores[0]], pieces[cores[-1] + 1 :]
        parts += [*before, "".join(pieces[cores[0] : cores[-1] + 1]), *after]
        origins += [-1] * len(before) + [i] + [-1] * len(after)
        spaces += ["No"] * (len(before) + len(after)) + [""]
    divided: dict[str, Sequence[str]] = {
        name: [texts[i] if i >= 0 else "" for i in origins] for name, texts in columns.items() if texts
    }
    return parts, divided | {"SpaceAfter": spaces}


def _groups(lines: Sequence[str]) -> list[str]:
    """The parts of a field, in which morphemes that belong to one word are joined."""
    groups: list[str] = []
    for token in " ".join(lines).split():
        if groups and (token[0] in "-=" or groups[-1][-1] in "-="):
            groups[-1] += token
        else:
            groups.append(token)
    return groups
