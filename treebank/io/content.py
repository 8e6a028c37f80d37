"""Content of files: the format of its first lines, and text and trees of another format.

A format is detected only if most of the first lines have it, because a first line can look like anything. Text and
trees are refused if they are evidently something else, because a result from them would be wrong. The message names the
likely format, the share of lines or words that show it, an example and a remedy.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treebank.base.metadata import parse_json
from treebank.core.brackets import shorten

Lines = Sequence[str]  # the first lines of a file that are not blank, without the last one, which may be incomplete
MAX_LINES = 50  # from which a format is detected
MIN_ROWS = 3  # lines of a table
MIN_LONG_LINE = 1 << 13  # characters of a line whose end is not among the first bytes of a file

# --- formats


def first_lines(head: str) -> Lines:
    """The complete lines at the beginning of a file that are not blank, or the only, incomplete one."""
    *lines, last = head.replace("\r\n", "\n").split("\n")
    return [line for line in lines if line.strip()] or [last] * bool(last.strip())


def _most(lines: Lines, is_match: Callable[[str], object]) -> bool:
    """Whether more than half of the first lines match."""
    first = lines[:MAX_LINES]
    return 2 * sum(map(bool, map(is_match, first))) > len(first)


_SINICA = re.compile(r"#\d+:[^ \[]*\[\d+\] [^ (]*\(")
_NEGRA = re.compile(r"#(?:FORMAT +[34]\s*|BOT +[A-Z]+\s*|BOS +\d+(?:\s+[\d-]+)*\s*(?:%%.*)?)")
_COLUMNS = re.compile(r"[0-9]+([-.][0-9]+)?\t[^\t]+(\t[^\t]*){4}\t([0-9]+|_)(\t[^\t]*){3}")
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COMMENT = re.compile(r"# *(?:(?:sent_id|text|newdoc id|newpar id) *=|(?:newdoc|newpar) *$)")
_ONLY_CONLLU = re.compile(r"^(?:# *(?:sent_id|text|newdoc|newpar) ?=?|[0-9]+[-.][0-9]+\t)", re.MULTILINE)
_THREE_COLUMNS = re.compile(r"[^\t ]+\t[^\t a-z0-9][^\t ]*\t([0-9]+)")
_BRACKETS = re.compile(r"\(\s*(?:[^\s()]+\s*)?\(\s*[^\s()]+\s*(?:\(|[^\s()]+\s*\))")
_BRACKET_OR_WORD = re.compile(r"[()]|[^\s()]+")
MIN_BRACKET_SHARE = 0.1  # opening brackets per word or label in trees; in text, they are rarer
_CORPUSSEARCH = re.compile(r"\((?:ID|CODE|META|METADATA|VERSION|-DFL-)[\s(]")
_MARK_STARTS = ("(ID", "(CODE", "(META", "(VERSION", "(-DFL-")  # searched first, which is faster
COMMENTS = ("#", "%%", "/*", "/~*", "*x*", "<")
_XML_PROLOG = re.compile(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(r"\A\s*<(?:[\w.-]+:)?([\w.-]+)(?:\s+[\w.:-]+\s*=[^<>]*)?\s*>")
PAIR_KEYS = ("sentence1", "sentence2")  # of SNLI and MultiNLI
JSON_KEYS = ("words", "spans", "distances", "text", PAIR_KEYS[0])
_INCOMPLETE_JSON = re.compile(r'\s*(?:\[\s*\{?|\{)\s*(?:"[^"]*"\s*:|$)')


def is_sinica(lines: Lines) -> bool:
    """Whether most lines are trees of the Sinica Treebank."""
    return _most(lines, _SINICA.match)


def is_negra(lines: Lines) -> bool:
    """Whether the first line after comments begins a file or a sentence in the export format of NeGra."""
    return _NEGRA.fullmatch(next((line for line in lines if not line.startswith("%%")), "")) is not None


def is_pangloss(lines: Lines) -> bool:
    """Whether an XML file has the root element of Pangloss."""
    return lines[0].startswith("<?xml") and re.search(r"<(?:TEXT|ARCHIVE)[\s>]", "\n".join(lines[:5])) is not None


def is_flextext(lines: Lines) -> bool:
    """Whether an XML file has the elements of interlinear texts of FLEx."""
    return _first_element(lines) in ("document", "interlinear-text") and "<interlinear-text" in "\n".join(lines)


def has_root(*names: str) -> Callable[[Lines], bool]:
    """A test whether the root element of XML has one of these ``names``, in lower case and without prefix."""
    return lambda lines: _first_element(lines) in names


def _first_element(lines: Lines) -> str:
    """The name of the first element of XML in lower case, without its prefix, or ""."""
    if not lines or not lines[0].lstrip().startswith("<"):
        return ""
    match = _ELEMENT.search(_XML_PROLOG.sub("", "\n".join(lines)))
    return match[1].lower() if match else ""


def is_conllu(lines: Lines) -> bool:
    """Whether most lines are rows of ten columns, or without rows, whether there is a comment of CoNLL-U."""
    rows = [line for line in lines if not line.startswith("#")]
    return _most(rows, _COLUMNS.fullmatch) if rows else any(map(_COMMENT.match, lines))


def has_conllu_lines(head: str) -> bool:
    """Whether columns have comments, multiword tokens or empty nodes, which CoNLL-X does not have."""
    return _ONLY_CONLLU.search(head) is not None


def is_dp(lines: Lines) -> bool:
    """Whether all lines have three columns without spaces, the last of which has heads: one in some is the root."""
    rows = [_THREE_COLUMNS.fullmatch(line) for line in lines[:MAX_LINES]]
    heads = [int(row[1]) for row in rows if row]
    return len(lines) >= MIN_ROWS and len(heads) == len(rows) and 0 in heads and max(heads) < 10 * MAX_LINES


def has_corpussearch_marks(text: str) -> bool:
    """Whether brackets have a node such as ID or CODE."""
    return any(mark in text for mark in _MARK_STARTS) and _CORPUSSEARCH.search(text) is not None


def is_corpussearch(lines: Lines) -> bool:
    """Whether the lines are brackets with a node such as ID or CODE."""
    return has_corpussearch_marks("\n".join(lines)) and is_bracketed(lines)


def is_bracketed(lines: Lines) -> bool:
    """Whether the first line after comments starts a tree with tags, or each line is one tree without tags.

    Most words must be inside of brackets, and brackets as frequent as in trees.
    """
    text = _BLOCK_COMMENT.sub("", "\n".join(lines[:MAX_LINES]))
    rows = [line.strip() for line in text.split("\n") if line.strip() and not line.lstrip().startswith(COMMENTS)]
    if not rows or not rows[0].startswith("("):
        return False
    depth = words = outside = opening = 0
    is_one_per_line = True  # each line is one bracket with its content
    tokens = [_BRACKET_OR_WORD.findall(row) for row in rows]
    for row in tokens:
        for i, token in enumerate(row, 1):
            depth = max(0, depth + (token == "(") - (token == ")"))
            opening += token == "("
            words += token not in "()"
            outside += not depth and token != ")"
            is_one_per_line = is_one_per_line and (depth > 0) == (i < len(row))
    if 2 * outside > words or opening < MIN_BRACKET_SHARE * words:
        return False
    has_inner = any("(" in row[1:] for row in tokens)
    return _BRACKETS.match("\n".join(rows)) is not None or (is_one_per_line and has_inner)


def json_object(line: str) -> dict[str, object] | None:
    """The JSON object in a line, or None."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_jsonl(lines: Lines) -> bool:
    """Whether the first line is a JSON object with words, a tree or text, or the beginning of a long one.

    Most other lines must begin like an object.
    """
    value = json_object(lines[0])
    is_long = len(lines[0]) >= MIN_LONG_LINE and lines[0].lstrip().startswith("{")
    if value is None and is_long and _INCOMPLETE_JSON.match(lines[0]):
        return any(f'"{key}"' in lines[0] for key in JSON_KEYS)
    return value is not None and any(key in value for key in JSON_KEYS) and _most(lines, re.compile(r"\s*\{").match)


# --- lines and words of another format


@dataclass(frozen=True, slots=True)
class Likely:
    """A format that lines or words may have: its name, those that show it, their least share, and the remedy.

    ``characters`` are those of which each such word has one; counting them is much faster than matching. There must be
    at least ``least`` lines or words.
    """

    name: str
    pattern: re.Pattern[str]
    share: float
    remedy: str
    characters: str = ""
    least: int = 1

    def problem(self, items: Sequence[str], unit: str) -> str:
        """The message if enough of the ``items``, called ``unit``, have this format, or ""."""
        if self.characters:
            text = " ".join(items)
            if sum(map(text.count, self.characters)) < self.share * len(items):
                return ""
        matches = [item for item in items if self.pattern.fullmatch(item)]
        if len(matches) < max(self.least, self.share * len(items)):
            return ""
        return f"this looks like {self.name} ({share(len(matches), len(items), unit, matches[0])}); {self.remedy}"


def share(count: int, total: int, unit: str, example: str) -> str:
    """A share of lines or words in percent, with an example."""
    return f"{count / total:.0%} of the {unit}, such as {shorten(example)}"


AS_TEXT = "to read it as text all the same, give --input-format text"
AS_BRACKETS = "to read it as it is, give --input-format brackets"
_TAG = r"</?[A-Za-z][^<>]*>"
_TOKEN = r"<(?:bos|eos|pad|unk)>"  # a token of language models, not markup
_TAG_LINE = re.compile(rf"\s*(?!{_TOKEN}){_TAG}\s*|\s*<(\w+)[^<>]*>\s*\S.*</\1>\s*", re.IGNORECASE)
_NO_TAGS = f"delete its tags first: sed -E 's#{_TAG}##g' IN > OUT"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]+)?"
_DATE = r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}"
_TO_PENN = "convert its derivations to Penn brackets first"
_NO_TREE = "it has no tree over the words"
_LINES = (
    Likely("CoNLL-U Plus", re.compile(r"# *global\.columns *=.*"), 0, "write its rows with ten columns first"),
    Likely(
        "a CHAT transcript (CHILDES)",
        re.compile(r"@\w[^\t]*(?::\t.*)?|[*][A-Z0-9]{2,}:\s.*|%[a-z]{3,}:\s.*"),
        0.5,
        "give --input-format chat",
    ),
    Likely("subtitles", re.compile(r"WEBVTT.*|[0-9:.,]+ +--> +[0-9:.,]+.*"), 0.15, "give --input-format subtitles"),
    Likely(
        "lines with times",
        re.compile(
            rf"\s*[\[(<]{_CLOCK}(?:\s*[-–]+>?\s*{_CLOCK})?[\])>].*"
            rf"|\s*\[?(?:{_DATE},? )?[0-9]+:[0-9]{{2}}:[0-9]{{2}}\S*\s.*|\s*\[?{_DATE},? {_CLOCK}.*"
        ),
        0.5,
        "delete the times first: sed -E 's/^[^A-Za-z]*[0-9:.,]+[^A-Za-z]* //' IN > OUT",
        least=2,
    ),
    Likely(
        "a text with lines of field markers (Toolbox, SFM)",
        re.compile(r"\\[a-z_]{1,4}(?: .*)?"),
        0.8,
        "give --input-format toolbox",
    ),
    Likely("LaTeX", re.compile(r"\s*\\(?:documentclass|begin\{document|section\*?\{).*"), 0, "extract its text first"),
    Likely(
        "lists or trees in square brackets",
        re.compile(
            r"\s*\[\.?[^\s\[\]]*\s+\[?.*\[.*|\s*\[\[[^\[\]]+\].*|\s*\[+['\"].*\]\s*|\s*\\Tree\b.*|\s*Tree\('.*|.*\\begin\{forest\}.*"
        ),
        0.5,
        "write them with round brackets, (S (NP (D the) (N cat)) (VP (V sleeps)))",
    ),
    Likely(
        "the VISL format (árvores deitadas)",
        re.compile(r"=+[^:]+:.*"),
        0.5,
        "convert it to the export format of NeGra or to Penn brackets first",
    ),
    Likely(
        "typed dependencies of Stanford",
        re.compile(r"[\w:]+\(.+-[0-9]+'*, .+-[0-9]+'*\)"),
        0.8,
        "write CoNLL-U instead (-outputFormat conllu)",
    ),
    Likely("AMR (PENMAN)", re.compile(r"\s*\(\w+ / .*|\s*:[A-Za-z][\w-]* .*"), 0.5, _NO_TREE),
    Likely("CCGbank", re.compile(r"ID=\S+ PARSER=.*|\s*\(<[TL] .*"), 0.3, _TO_PENN),
    Likely(
        "a TextGrid of Praat", re.compile(r'File type = "ooTextFile.*'), 0, "write the text of one tier into a file"
    ),
    Likely("objects of Python", re.compile(r"\s*\{ *'\w+':.*\}\s*"), 0.5, "write JSON lines with json.dumps"),
)
_MARKUP = (
    Likely("text with lines of markup", re.compile(r"\s*<doc id=.*>\s*"), 0, _NO_TAGS),  # WikiExtractor
    Likely("text with lines of markup", _TAG_LINE, 0.1, _NO_TAGS),
    Likely("text with markup", re.compile(r".*<([A-Za-z]\w*)\b[^<>]*>.*</\1>.*"), 0.5, _NO_TAGS),
)
_UPPER = r"[A-Z.,:;$'`-][A-Z0-9.,:;$'`-]*"
#: words that carry a tag or lemma: example, pattern, the characters between word and tag, and these for sed
_TAGGED = (
    ("word/TAG", re.compile(r"[^/]*/[^/\s]{1,12}|.+/[A-Z.,:;$'`#-]+"), "/", "/"),
    ("word_TAG", re.compile(rf".+_(?:{_UPPER}|#)"), "_", "_"),
    ("word|TAG", re.compile(rf"[^|]+(?:\|[^|]+)+|.+[#@~^+=:\\]{_UPPER}"), "|#@~^+=:\\", "[|@~^+=:]"),
)
_WITHHELD = Likely("text without its words", re.compile("_"), 0.8, "get the words from the owner of the text", "_", 3)
_WORDS = (
    *(
        Likely(f"words with tags, {name}", pattern, 0.8, f"delete the tags: sed -E 's#{by}[^ ]+##g' IN > OUT", *rest)
        for name, pattern, characters, by in _TAGGED
        for rest in [(characters, MIN_ROWS)]
    ),
    _WITHHELD,
)
_LEAVES = (
    Likely(
        "the discbracket format of discontinuous trees",
        re.compile(r"[0-9]+=.+"),
        0.5,
        "convert it to the export format of NeGra first (discodop treetransforms --output=export)",
        "=",
    ),
    *(
        Likely(
            f"brackets with leaves {name}",
            pattern,
            0.5,
            f"write each leaf as (TAG word): sed -E {by} IN > OUT",
            letters,
        )
        for name, pattern, letters, separator in _TAGGED
        for by in [f"'s#([^ ()]+){separator}([^ ()]+)#(\\2 \\1)#g'"]
    ),
    Likely(
        "brackets with the positions of words in the leaves",
        re.compile(r"\[?[0-9]+[\]:_/|-].+|.+[:_/|-][0-9]+"),
        0.8,
        "delete the positions, or write (TAG word)",
        "0123456789",
    ),
    _WITHHELD,
    Likely("AMR (PENMAN)", re.compile(r":[A-Za-z].*|/"), 0.1, _NO_TREE, ":/"),
    Likely("CCGbank", re.compile(r".*[\w.,]>|<[TL]"), 0.1, _TO_PENN, "><"),
    Likely(
        "CorpusSearch with lemmas, word-lemma",
        re.compile(r"[^-]+-[^-]+|-+|\W-\W"),
        0.8,
        "name the file .psd or give --input-format corpussearch",
        "-",
    ),
)


def _first_problem(formats: Iterable[Likely], items: Sequence[str], unit: str) -> str:
    return next(filter(None, (likely.problem(items, unit) for likely in formats)), "")


def leaves_problem(words: Sequence[str]) -> str:
    """The message if the words of trees show that these have another format, or ""."""
    return _first_problem(_LEAVES, words, "words")


# --- text

_XML = re.compile(r"<(?:!doctype|html|head|body|\?xml|TEI|tei|corpus|xces)\b", re.IGNORECASE)
_HTML = re.compile(r"\s*<(?:!doctype )?html\b", re.IGNORECASE)
_SEPARATORS = {"tabs": "\t", "commas": ",", "semicolons": ";", "vertical bars": "|"}
_TAG_CELL = re.compile(r"[A-Z][A-Z0-9$:.-]*|[BIES]-\S+|O|[^\w\s]+")
_NAME = r"((?:[A-Z]|[a-z]+[0-9])[\w.'-]*(?: [\w.'-]+){0,2})"
_SPEAKER = re.compile(rf"\s*(?:[\[(<*]?{_NAME}[\])>]? ?: +|[\[<]{_NAME}[\]>] +)\S.*")
_NUMBERED = re.compile(r"\s*[(\[#]?(?:[^\W\d_][\w.-]*[._-]|[^\W\d_]*|[0-9]+[.:])0*([0-9]+)[.):\]]*\s+(?=\S)")
_NO_FIRST_WORD = "sed -E 's/^[[:blank:]]*[^[:blank:]]+[[:blank:]]+//' IN > OUT"
_QUOTED = re.compile(r'".*"\s*')
_ONE_COLUMN = (
    "this looks like a table of one column in quotation marks; write its text into a file, one sentence per line"
)
_SPACES = "\u3000\u00a0\u200b\u1361\u2002\u2003\u2009\u202f"  # which belong to words
MIN_COLUMN_SHARE = 0.9  # of the lines with the most frequent number of cells
MIN_SPEAKER_SHARE = 0.5  # of the lines that begin with the name of a speaker
MIN_NUMBERED_LINES = 5
MIN_NUMBERED_SHARE = 0.9  # of the lines whose number follows that of the line before
MIN_WORD_ROWS = 10  # lines of one word each, among them punctuation


def text_problem(head: str, *, is_raw: bool = False, is_table: bool = False) -> str:
    """The error message, with a remedy, for text that does not consist of sentences, or "".

    ``is_raw`` says that a tokenizer will split it at all white space, ``is_table`` that its name is that of a table.
    """
    lines = first_lines(head)[: 2 * MAX_LINES]
    if not lines:
        return ""
    if _XML.match(lines[0].lstrip()):
        known = "TIGER-XML, TEI, FLEx, Pangloss or ELAN"
        return f"this is HTML or XML, not {known}; extract its text first, one sentence per line; {AS_TEXT}"
    problem = (
        _json_problem(lines)
        or _first_problem(_LINES, lines, "lines")
        or _speakers_problem(lines)
        or _table_problem(lines, least=2 if is_table else MIN_ROWS)
        or _columns_problem(lines)
        or _table_problem(lines, least=2 if is_table else MIN_WORD_ROWS, of_words=True)
        or (_ONE_COLUMN if is_table and _most(lines, _QUOTED.fullmatch) else "")
        or _numbers_problem(lines)
        or _first_problem(_MARKUP, lines, "lines")
        or _first_problem(
            _WORDS, [token for token in " ".join(lines).split() if token.strip("[]=")], "words"
        )  # without brackets of chunks
        or ("" if is_raw else _spaces_problem(lines))
    )
    return f"{problem}; {AS_TEXT}" if problem else ""


def suffix_problem(head: str) -> str:
    """The error message for a file that cannot have the format of its suffix, such as a table, or "".

    Trees, which begin with a bracket, and XML are judged by their readers.
    """
    if _HTML.match(head):
        return "this is HTML; download the file itself"
    first = next((line for line in first_lines(head) if not line.lstrip().startswith(COMMENTS)), "(")
    return "" if first.lstrip().startswith("(") else text_problem(head)


def _json_problem(lines: Lines) -> str:
    value = json_object(lines[0])
    if value and _most(lines, re.compile(r"\s*\{").match):
        return f'these JSON lines have no "words" and no "text" (but {", ".join(list(value)[:4])})'
    is_open = value is None and lines[0].lstrip().startswith(("{", "[")) and _INCOMPLETE_JSON.match(lines[0])
    if is_open and re.match(r'\s*(?:[\[{]|"[^"]*"\s*[:,]|-?[0-9.]+,?$)', lines[-1 if len(lines) == 1 else 1]):
        return "this is JSON over several lines; give one object per line (jq -c '.[]' IN > OUT)"
    return ""


def _speakers_problem(lines: Lines) -> str:
    """The message for a transcript: lines begin with names of speakers, which are repeated, or all lines do."""
    candidates = [line for line in lines if ":" in line[:40] or line.lstrip()[:1] in ("[", "<")]  # faster than matching
    matches = [(line, match[1] or match[2]) for line in candidates if (match := _SPEAKER.fullmatch(line))]
    count, names = len(matches), [name for _, name in matches]
    is_repeated = len(set(names)) < count
    if not is_repeated and any(word[0].islower() for name in names for word in name.split()[1:]):
        return ""  # clauses, such as "He said: go home"
    if count < 2 or count < (MIN_SPEAKER_SHARE if is_repeated and count >= MIN_ROWS else 1) * len(lines):
        return ""
    example = share(count, len(lines), "lines", matches[0][0])
    return (
        f"this looks like a transcript with names of speakers ({example}); delete them: sed -E 's/^[^:]*: *//' IN > OUT"
    )


def _table_problem(lines: Lines, *, least: int, of_words: bool = False) -> str:
    """The message for a table: all lines have the same number of cells. A comma before a space is punctuation.

    A table has at least ``least`` lines, and a cell with several words unless ``of_words`` is true. Three and more
    words between commas in each line need only `MIN_ROWS` lines.
    """
    for name, separator in _SEPARATORS.items():
        try:
            rows = list(csv.reader(lines[:MAX_LINES], delimiter=separator))
        except csv.Error:
            continue
        counts = {len(row) for row in rows}
        is_evident = of_words and separator != "\t" and max(counts) > 2
        if len(counts) > 1 or counts == {1} or len(rows) < (min(least, MIN_ROWS) if is_evident else least):
            continue
        is_tight = separator == "|" or all(not cell.startswith(" ") for row in rows for cell in row[1:])
        if is_tight and (of_words or any(" " in cell.strip() for row in rows for cell in row)):
            problem = f"this looks like a table of {counts.pop()} columns between {name}"
            return f"{problem}; write its column of text into a file, one sentence per line"
    return ""


def _numbers_problem(lines: Lines) -> str:
    """The message for lines that begin with their number, such as ``12.``, ``(12)`` or ``story.012``."""
    matches = [_NUMBERED.match(line) for line in lines]
    numbers = [int(match[1]) if match else -1 for match in matches]
    count = sum(0 < number == last + 1 for last, number in pairwise(numbers))
    if len(lines) < MIN_NUMBERED_LINES or count < MIN_NUMBERED_SHARE * (len(lines) - 1):
        return ""
    where = share(sum(map(bool, matches)), len(lines), "lines", lines[1])
    return f"these lines begin with their numbers ({where}); delete them: {_NO_FIRST_WORD}"


def _columns_problem(lines: Lines) -> str:
    """The message for one word per line, with or without columns such as tags and lemmas."""
    rows = [line for line in lines if not _TAG_LINE.fullmatch(line) and line[0] != "#"]
    if len(rows) < MIN_ROWS:
        return ""
    remedy = "join its words to one sentence per line, or write the ten columns of CoNLL-U"
    for separator in ("\t", None):
        cells = [row.split(separator) for row in rows]
        width, count = Counter(map(len, cells)).most_common(1)[0]
        if count < MIN_COLUMN_SHARE * len(rows):
            continue
        columns = list(zip(*(row for row in cells if len(row) == width), strict=True))
        example = share(count, len(rows), "lines", rows[0].replace("\t", " "))
        has_spaces = any(" " in cell for column in columns for cell in column)
        if width > 1 and not has_spaces and _has_tags(columns):
            return f"this looks like one word per line with {width} columns ({example}); {remedy}"
        is_long = len(rows) >= MIN_WORD_ROWS and any(not any(map(str.isalnum, cell)) for cell in columns[0])
        if width == 1 and separator is None and is_long:
            return f"this looks like one word per line ({example}); {remedy}"
    return ""


def _has_tags(columns: Sequence[Sequence[str]]) -> bool:
    """Whether a column after the first contains tags, and the first one does not."""
    limit = MIN_COLUMN_SHARE * len(columns[0])
    is_tagged = [
        sum(map(bool, map(_TAG_CELL.fullmatch, cells))) >= limit
        and sum(any(map(str.isalpha, cell)) for cell in set(cells)) > 1
        for cells in columns
    ]
    return any(is_tagged) and not is_tagged[0]


def _spaces_problem(lines: Lines) -> str:
    """The message for words that other characters separate more often than spaces, which belong to words."""
    text = "".join(line.strip() for line in lines)
    for space in _SPACES:
        if (count := text.count(space)) >= 2 * len(lines) and count > 2 * (text.count(" ") + text.count("\t")):
            name = f"U+{ord(space):04X}"
            return (
                f"the words are separated by {name}, which belongs to words; replace it by spaces or give --tokenizer"
            )
    return ""
