"""HTML of the page of a report: tables, plots and sections for screens, paper and screen readers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from treebank.base.tables import Table
from treebank.draw.page import style
from treebank.draw.scene import LIGHT, Scene
from treebank.draw.svg import escaped, svg

Section = tuple[str, str, str]  # id, title, and HTML content, empty if there is nothing to report
BREAKS = re.compile(r"(?<=[/_.])(?=\w)")  # possible line breaks in names of models and settings
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
td:not(.text) { white-space: nowrap; } .best { font-weight: 600; }
td, th { font-variant-numeric: tabular-nums; }
.plots { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.plot svg { max-width: 100%; height: auto; overflow: visible; } figure.plot { border: 0; margin: 0.6rem 0; }
code, pre { font-size: 0.88rem; white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; }
h1, li, p { overflow-wrap: anywhere; }
.note { color: #555; max-width: 46rem; } nav ul { padding-left: 1.2rem; columns: 16rem; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
@media (prefers-color-scheme: dark) {
.note { color: #b5b5b5; } th, td { border-color: #444; } th[scope=row] { background: #161616; } }
@media print { details:not([open]) { display: none; }
h2, h3, .note, summary, figcaption { break-after: avoid; } section, details table { break-inside: auto; }
table, tr { break-inside: avoid; } }
"""


def table(content: Table) -> str:
    """A table that scrolls if it is too wide, with its footnotes. The first column names the row."""
    kinds = [' class="text" dir="auto"' * content.is_text(index) for index in range(len(content.header()))]
    heads = "".join(
        f'<th scope="col"{kind}>{escaped(name)}</th>' for name, kind in zip(content.header(), kinds, strict=True)
    )
    caption = escaped(content.title)
    lines = [
        f'<div class="scroll" tabindex="0" role="group" aria-label="{caption}">',
        f"<table>\n<caption><span>{caption}</span></caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>",
    ]
    for number, row in enumerate(content.texts()):
        first = f'<th scope="row" dir="auto">{BREAKS.sub("<wbr>", escaped(row[0]))}</th>'
        cells = [
            f"<td{' class=best' if (number, index) in content.best else kinds[index]}>{escaped(cell)}</td>"
            for index, cell in enumerate(row[1:], start=1)
        ]
        lines.append(f"<tr>{first}{''.join(cells)}</tr>")
    lines += ["</tbody>\n</table>\n</div>"]
    return "\n".join([*lines, listing(content.footnotes)] if content.footnotes else lines)


def plot(scene: Scene, name: str) -> str:
    """A plot with its title that shrinks with the page. ``name`` is a prefix of its ids."""
    drawn = svg(scene, inks=LIGHT, paper="", name=name)
    return f'<figure class="plot" id="{name}">\n<figcaption>{escaped(scene.title)}</figcaption>\n{drawn}</figure>'


def note(text: str) -> str:
    """A paragraph of explanation."""
    return f'<p class="note">{escaped(text)}</p>'


def command(line: str) -> str:
    """A command line."""
    return f"<pre><code>{escaped(line)}</code></pre>"


def hidden(summary: str, inner: str) -> str:
    """A collapsed part of the page, which is not printed unless it is open."""
    return f"<details><summary>{escaped(summary)}</summary>\n{inner}\n</details>"


def listing(items: Iterable[str]) -> str:
    """A bulleted list."""
    return "<ul>" + "".join(f"<li>{escaped(item)}</li>" for item in items) + "</ul>"


def short_names(runs: Sequence[str]) -> list[str]:
    """Last parts of the paths of model folders, or whole paths if the last parts are not distinct."""
    names = [os.path.basename(os.path.normpath(run)) for run in runs]
    return names if len(set(names)) == len(names) else list(runs)


def report_page(title: str, sections: Sequence[Section], foot: str) -> str:
    """The page of ``sections``, with links to them at the top."""
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
