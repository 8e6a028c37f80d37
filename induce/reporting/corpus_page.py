"""One page of a corpus: search, pictures, phrases and downloads. It needs no network and no other file.

Python counts the phrases and writes the sentences as numbers (`corpus_data`). The scripts in ``browse/``, which become
one script of the page, search and draw them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from induce.reporting.corpus_data import CorpusData, with_documents
from induce.reporting.markup import STYLE as TABLE_STYLE
from induce.reporting.markup import note
from treebank.base import VERSION
from treebank.base.arguments import check_count
from treebank.base.errors import SynparseError
from treebank.base.metadata import json_text
from treebank.base.terminal_text import quantity
from treebank.core.sentence import Sentence
from treebank.draw.page import ink_rules, style
from treebank.draw.scene import LIGHT
from treebank.draw.svg import escaped
from treebank.search.phrases import PhraseFilter, PhraseRow, PhraseTable, count_phrases
from treebank.search.search import draw_sample

MAX_PHRASES = 2_000  # rows of the table
SCRIPTS = ("sentences", "pattern_reader", "tree_patterns", "head_patterns", "search", "pictures", "downloads", "page")
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"  # the browser loads nothing else
STYLE = """
svg text { font-family: system-ui, sans-serif; text-anchor: middle; }
svg path:not(.filled) { fill: none; stroke-width: 1.4; stroke-linejoin: round; }
h2:focus { outline: none; }
button, input, select { font: inherit; padding: 0.25rem 0.6rem; min-height: 2rem; box-sizing: border-box; }
button { cursor: pointer; } input[type=number] { width: 4.5rem; } select { max-width: 18rem; }
input[type=checkbox] { min-height: 0; }
nav { display: flex; gap: 0.4rem; border-bottom: 1px solid #ccc; padding-bottom: 0.6rem; }
nav [aria-current] { font-weight: 600; box-shadow: inset 0 -3px #0063a6; }
form > div { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; margin: 0.5rem 0; }
.pair { display: flex; gap: 0.6rem; }
label { display: flex; gap: 0.4rem; align-items: center; min-width: 0; max-width: 100%; }
label select, label.query input { flex: 1 1 auto; min-width: 0; } label.query { flex: 1 1 20rem; }
.problem { color: #a40000; font-weight: 600; margin: 0; } .problem:empty { display: none; }
[aria-invalid] { outline: 2px solid #a40000; } #hint { margin: 0; }
.status { font-weight: 600; } .tools { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
.results { list-style: none; padding: 0; margin: 0.5rem 0; }
.results li { border-top: 1px solid #ccc; padding: 0.5rem 0; }
.sentence { margin: 0; overflow-wrap: anywhere; } mark { background: #ffe58a; color: inherit; border-radius: 2px; }
.detail { margin: 0.2rem 0 0; color: #555; font-size: 0.9rem; overflow-wrap: anywhere; }
.detail button { padding: 0.05rem 0.5rem; min-height: 1.6rem; }
.link { border: 0; background: none; color: #0063a6; text-decoration: underline; padding: 0; min-height: 1.6rem; }
.link { text-align: start; overflow-wrap: anywhere; }
thead .link { color: inherit; text-decoration: none; font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 400; }
[aria-sort=ascending] button::after { content: " \\25B2"; } [aria-sort=descending] button::after { content: " \\25BC"; }
@media (prefers-color-scheme: dark) {
  nav, .results li { border-color: #444; } nav [aria-current] { box-shadow: inset 0 -3px #63b5f0; }
  .problem { color: #ff9d94; } [aria-invalid] { outline-color: #ff9d94; }
  mark { background: #6b5500; } .detail { color: #b5b5b5; } .link { color: #63b5f0; }
}
@media print { form, nav, .tools, button { display: none; } }
"""
_OF_PHRASES = "The share of a phrase is the share of the occurrences of its words that are a phrase."
_OF_ARCS = "The share of an arc is the share of the pairs of its words, in this order in a sentence, that are an arc."
SHARES = {"Phrases": _OF_PHRASES, "Arcs": _OF_ARCS, "Phrases and arcs": f"{_OF_PHRASES} {_OF_ARCS}"}
HELP = """
<details><summary>How to search</summary>
<ul>
<li>Words are whole words in this order. Capitals make no difference unless <em>Match case</em> is on.</li>
<li>A regular expression has the syntax of JavaScript. It is matched with the words of a sentence, separated by single
spaces, and the words that the match touches are the result.</li>
<li>A pattern for trees names a node and its relations, such as <code>NP &lt; (PP &lt;&lt; of)</code>. Nodes are
labels, tags and words, <code>"quoted text"</code> or <code>/regular expressions/</code>, both with <code>i@</code>
before them to ignore case, or <code>*</code> for any. Relations are <code>&lt; &gt; &lt;&lt; &gt;&gt; &lt;, &gt;, &lt;-
&gt;- &lt;: &gt;: . , .. ,, $ $. $, $.. $,,</code></li>
<li>A pattern for heads has words in braces, such as <code>{upos=VERB} &gt;obj {distance&gt;3}</code>. Relations are
<code>&gt; &lt; &gt;&gt; &lt;&lt; . , .. ,, $ $.. $,,</code></li>
<li>Relations are combined by <code>! &amp; |</code> and brackets. Patterns find what <code>synparse search</code>
finds, which has more: names, macros and further relations.</li>
<li>A label restricts the results to phrases or words with this label, tag or relation. Without a search, it finds all
of them.</li>
</ul>
</details>
"""


def corpus_page(
    sentences: Iterable[Sentence], *, title: str = "Corpus", sample: int | None = None, seed: int = 1
) -> str:
    """The page of ``sentences``, or of a random ``sample`` of this size.

    ``title`` is the heading. Raises SynparseError if there are no sentences or more than `MAX_SENTENCES` of
    `corpus_data`.
    """
    if sample is not None:
        check_count("sample", sample)
        sentences = draw_sample(with_documents(sentences), sample, seed)
    data = CorpusData()
    phrases = count_phrases([data.collect(sentences)], PhraseFilter(limit=MAX_PHRASES))
    if not data.rows:
        raise SynparseError("there are no sentences for a page; name files with trees or heads")
    return _page(title, data, phrases)


def _page(title: str, data: CorpusData, phrases: PhraseTable) -> str:
    parts = _parts(data)
    content = data.to_json() | {"phrases": [_row(row) for row in phrases.rows]}
    packed = json_text(content, compact=True).replace("<", "\\u003c")  # no text can end the script
    folder = files("induce.reporting") / "browse"
    script = "\n".join((folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escaped(title)}</title>
<style>{ink_rules(LIGHT)}{style()}{TABLE_STYLE}{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<h1>{escaped(title)}</h1>
{note(_summary(data))}
<noscript><p>This page needs JavaScript, which is switched off in this browser.</p></noscript>
<main id="main" hidden>
<nav aria-label="Views">
<button type="button" value="sentences" aria-current="true">Sentences</button>
<button type="button" value="phrases">{parts}</button>
</nav>
{_sentences(data)}
{_phrases(parts, phrases)}
</main>
<footer>
{note(f"Written by synparse {VERSION}.")}
</footer>
<script type="application/json" id="corpus">{packed}</script>
<script>
{script}</script>
</body>
</html>"""


def _parts(data: CorpusData) -> str:
    """The name of the table: phrases of trees, arcs between words and their heads, or both."""
    return "Phrases and arcs" if data.has_trees and data.has_heads else "Arcs" if data.has_heads else "Phrases"


def _summary(data: CorpusData) -> str:
    counts = ((len(data.rows), "sentence"), (data.word_count, "word"), (len(data.documents), "document"))
    texts = [quantity(count, noun) for count, noun in counts]
    return f"{texts[0]} and {texts[1]} in {texts[2]}. This page needs no network."


def _sentences(data: CorpusData) -> str:
    """The section with the form for searching and the results."""
    exports = [("brackets", "brackets")] * data.has_trees + [("conllu", "CoNLL-U")] * data.has_heads
    groups = (("Phrases", data.phrase_labels), ("Words", data.tags), ("Relations", data.relations))
    labels = "".join(_group(name, _options(sorted(names - {""}))) for name, names in groups if names - {""})
    return f"""<section id="sentences" aria-labelledby="sentences-h">
<h2 id="sentences-h" tabindex="-1">Sentences</h2>
<form id="search" role="search" aria-label="Sentences">
<div>
<label>Search for <select id="mode"><option value="words">words</option>
<option value="expression">regular expression</option><option value="pattern">pattern</option></select></label>
<label class="query">Text <input id="query" type="search" autocomplete="off" spellcheck="false" dir="auto"
aria-describedby="hint problem"></label>
<label><input id="case" type="checkbox"> Match case</label>
</div>
<p id="hint" class="note"></p>
<p id="problem" class="problem" role="alert"></p>
<div>
<label>Label <select id="label"><option value="">any</option>{labels}</select></label>
<span class="pair"><label>Words from <input id="shortest" type="number" min="1"></label>
<label>to <input id="longest" type="number" min="1"></label></span>
{_documents(data)}
<span class="pair"><button type="submit">Search</button>
<button type="button" id="clear">Clear</button></span>
</div>
</form>
{HELP}
<div class="tools">
<p id="status" class="status" role="status"></p>
<label>Download as <select id="format">
{"".join(f'<option value="{value}">{name}</option>' for value, name in (*exports, ("csv", "CSV")))}
</select></label>
<button type="button" id="download">Download these sentences</button>
</div>
<ol id="results" class="results" role="list" aria-label="Results"></ol>
<button type="button" id="more"></button>
</section>"""


def _group(name: str, options: str) -> str:
    return f'<optgroup label="{name}">{options}</optgroup>'


def _options(names: Iterable[str]) -> str:
    return "".join(f"<option>{escaped(name)}</option>" for name in names)


def _documents(data: CorpusData) -> str:
    """The choice of a document, if there are several."""
    if len(data.documents) < 2:
        return ""
    options = "".join(
        f'<option value="{number}">{escaped(": ".join(filter(None, document)))}</option>'
        for number, document in enumerate(data.documents)
    )
    return f'<label>Document <select id="document"><option value="">any</option>{options}</select></label>'


def _row(row: PhraseRow) -> list[object]:
    """Words, label, count, documents, share and confidence of a phrase."""
    frequency = row.frequencies[0]
    numbers = [None if value is None else round(value, 4) for value in (frequency.share, frequency.confidence)]
    return [row.words, row.label, frequency.count, frequency.documents, *numbers]


def _phrases(parts: str, phrases: PhraseTable) -> str:
    """The section with the table of frequent phrases."""
    columns = ["Words", "Label", "Count", "Documents", "Share"]
    if any(row.frequencies[0].confidence is not None for row in phrases.rows):
        columns.append("Confidence")
    heads = "".join(
        f'<th scope="col"{" class=text" if column in columns[:2] else ""}>'
        f'<button type="button" class="link">{column}</button></th>'
        for column in columns
    )
    about = (
        f"{parts} of two or more words that occur at least twice. {SHARES[parts]} Choose words to see their sentences, "
        "and the name of a column to sort."
    )
    if phrases.omitted:
        about += f" {phrases.omitted:,} less frequent rows are left out; synparse phrases lists them."
    labels = _options(sorted({row.label for row in phrases.rows} - {""}))
    return f"""<section id="phrases" aria-labelledby="phrases-h" hidden>
<h2 id="phrases-h">{parts}</h2>
{note(about)}
<form id="phrase-form" role="search" aria-label="{parts}">
<div>
<label>Containing <input id="phrase-text" type="search" autocomplete="off" spellcheck="false" dir="auto"></label>
<label>Label <select id="phrase-label"><option value="">any</option>{labels}</select></label>
</div>
</form>
<div class="tools">
<p id="phrase-status" class="status" role="status"></p>
<button type="button" id="phrase-download">Download this table</button>
</div>
<div class="scroll" tabindex="0" role="group" aria-labelledby="phrases-h">
<table>
<thead><tr>{heads}</tr></thead>
<tbody id="phrase-rows"></tbody>
</table>
</div>
<button type="button" id="more-phrases"></button>
</section>"""
