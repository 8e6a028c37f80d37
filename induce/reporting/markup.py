"""Parts of the page of a report: tables, plots and sections that read well on screens, on paper and aloud."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treebank.draw.page import style
from treebank.draw.scene import LIGHT, Scene
from treebank.draw.svg import escaped, svg

BREAKS = re.compile(r"(?<=[/_.])(?=\w)")  # where the name of a run, a setting or a sequence of words may be broken
STYLE = """
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; } h3 { font-size: 1rem; margin: 1.4rem 0 0.3rem; }
table { border-collapse: collapse; font-size: 0.92rem; margin: 0.4rem 0 1rem; min-width: min(100%, 26rem); }
caption { text-align: left; font-weight: 600; padding-bottom: 0.2rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: calc(100vw - 2rem); }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid #ccc; }
th { vertical-align: bottom; }
th[scope=row] { vertical-align: top; min-width: 5.5rem; max-width: 15rem; overflow-wrap: break-word;
  position: sticky; left: 0; background: #fff; }
th[scope=row], .text { text-align: left; } td.text { overflow-wrap: anywhere; min-width: 9rem; }
td:not(.text) { white-space: nowrap; }
td, th { font-variant-numeric: tabular-nums; }
.plots { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.plot svg { max-width: 100%; height: auto; } figure.plot { border: 0; margin: 0.6rem 0; }
code, pre { font-size: 0.88rem; white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; }
h1, li, p { overflow-wrap: anywhere; }
.note { color: #555; max-width: 46rem; } nav ul { padding-left: 1.2rem; columns: 16rem; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
@media (prefers-color-scheme: dark) {
.note { color: #b5b5b5; } th, td { border-color: #444; } th[scope=row] { background: #161616; } }
@media print { details::details-content { content-visibility: visible; } details > * { display: block; }
h2, h3, .note, summary, figcaption { break-after: avoid; } section, details table { break-inside: auto; }
table, tr { break-inside: avoid; } }
"""


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """A table that scrolls by itself where it is too wide. The first column names the row."""
    heads = "".join(f'<th scope="col"{_kind(i, text_columns)}>{escaped(one)}</th>' for i, one in enumerate(header))
    lines = [
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escaped(caption)}">',
        f"<table>\n<caption><span>{escaped(caption)}</span></caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>",
    ]
    for row in rows:
        first = f'<th scope="row" dir="auto">{BREAKS.sub("<wbr>", escaped(row[0]))}</th>'
        cells = [f"<td{_kind(i, text_columns)}>{escaped(one)}</td>" for i, one in enumerate(row[1:], start=1)]
        lines.append(f"<tr>{first}{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody>\n</table>\n</div>"])


def _kind(column: int, text_columns: int) -> str:
    return ' class="text" dir="auto"' if column < text_columns else ""


def plot(scene: Scene, name: str) -> str:
    """A plot under its title; ``name`` makes its ids its own. It shrinks with the page."""
    drawn = svg(scene, inks=LIGHT, paper="", name=name)
    return f'<figure class="plot" id="{name}">\n<figcaption>{escaped(scene.title)}</figcaption>\n{drawn}</figure>'


def note(text: str) -> str:
    """A paragraph that explains."""
    return f'<p class="note">{escaped(text)}</p>'


def command(line: str) -> str:
    """What to type."""
    return f"<pre><code>{escaped(line)}</code></pre>"


def hidden(summary: str, inner: str) -> str:
    """What is there for those who open it."""
    return f"<details><summary>{escaped(summary)}</summary>\n{inner}\n</details>"


def listing(items: Iterable[str]) -> str:
    """A list of lines."""
    return "<ul>" + "".join(f"<li>{escaped(item)}</li>" for item in items) + "</ul>"


def report_page(title: str, sections: Sequence[tuple[str, str, str]], foot: str) -> str:
    """The whole page of ``sections``: the name of each, its title, and what it holds; with links to them at the top."""
    links = "".join(f'<li><a href="#{name}">{escaped(heading)}</a></li>' for name, heading, _ in sections)
    body = "\n".join(_section(*section) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>{style()}{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<h1>{escaped(title)}</h1>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="main">
{body}
</main>
<footer>
{foot}
</footer>
</body>
</html>
"""


def _section(name: str, heading: str, inner: str) -> str:
    title = f'<h2 id="{name}-h">{escaped(heading)}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-h">\n{title}\n{inner}\n</section>'
