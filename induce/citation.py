"""BibTeX entries to cite for a result: this program, the papers of the model and of the distances, and the treebank.

The entries are in ``citations.bib``; the tables below name them by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING

from induce.decoding.hidden_states import MEASURES
from induce.registry import MODELS as REGISTERED
from induce.registry import load
from induce.structures import Impact
from treebank.base import VERSION

if TYPE_CHECKING:
    from induce.storage.checkpoint import Checkpoint

MODELS: dict[str, tuple[str, ...]] = {
    "onlstm": ("shen-etal-2019-onlstm",),
    "onlstm-syd": ("du-etal-2020-syd", "shen-etal-2019-onlstm"),
    "lstm": ("merity-etal-2018",),
    "ordered-memory": ("shen-etal-2019-ordered-memory",),
    "prpn": ("shen-etal-2018-prpn",),
    "prpn-syd": ("du-etal-2020-syd", "shen-etal-2018-prpn"),
    **dict.fromkeys(("npcfg", "cpcfg"), ("kim-etal-2019-compound",)),
    "simple-pcfg": ("liu-etal-2023-simple",),
    "tn-pcfg": ("yang-etal-2021-tn-pcfg", "yang-etal-2022-rank"),
    "nl-pcfg": ("zhu-etal-2020-return",),
    "nbl-pcfg": ("yang-etal-2021-neural-bilexicalized",),
    "diora": ("drozdov-etal-2019-diora",),
    "s-diora": ("drozdov-etal-2020-s-diora",),
    "structformer": ("shen-etal-2021-structformer",),
    "rnng": ("kim-etal-2019-unsupervised", "dyer-etal-2016"),
    "urnng": ("kim-etal-2019-unsupervised",),
    "tree-transformer": ("wang-etal-2019-tree",),
    "transformer": ("vaswani-etal-2017",),
    "udgn": ("shen-etal-2022-udgn",),
    "segment-edges": (),  # synparse's own
    "ccm": ("klein-manning-2002",),
    "dmv": ("klein-manning-2004",),
    "dmv-ccm": ("klein-manning-2004", "klein-manning-2002"),
    "ndmv": ("jiang-etal-2016-neural",),
    **dict.fromkeys(("ndmv-sibling", "ndmv-lexical", "ndmv-joint"), ("yang-etal-2020-second-order",)),
    "chart": ("stern-etal-2017-minimal",),
    "biaffine": ("dozat-manning-2017-biaffine",),
    **dict.fromkeys(("ocn", "moe", "tree-lstm", "tree-rnn", "tree-cell"), ("shen-2022-thesis",)),
    "ompn": ("lu-etal-2021-ompn",),
    "compile": ("kipf-etal-2019-compile",),
    "gumbel-tree-lstm": ("choi-etal-2018-gumbel",),
    "crvnn": ("chowdhury-caragea-2021-crvnn",),
    "rl-spinn": ("williams-etal-2018-latent", "yogatama-etal-2017"),
}
CONVENTIONS = {
    "on-lstm": "shen-etal-2019-onlstm",
    **dict.fromkeys(("km", "km-prose", "km-wsj10"), "klein-manning-2002"),
    **dict.fromkeys(("kim-sentence", "kim-corpus"), "kim-etal-2019-compound"),
    **dict.fromkeys(("tnpcfg", "tnpcfg-corpus"), "yang-etal-2021-tn-pcfg"),
    **dict.fromkeys(("seminfo", "seminfo-corpus"), "chen-etal-2025-seminfo"),
    "udgn": "shen-etal-2022-udgn",
}
DISTANCES = {  # measure of `synparse decode --from`, or of ``MODEL@distances=``
    **dict.fromkeys(MEASURES, "kim-etal-2020-pretrained"),
    Impact.name: "wu-etal-2020-perturbed",
}
SOFTMAXES = "yang-etal-2018-breaking"
REWARDS = CONVENTIONS["seminfo"]
PENN_TREEBANK = "marcus-etal-1993"
PROGRAM = f"""@software{{synparse,
  author = {{{{The synparse developers}}}},
  title = {{{{synparse: unsupervised parsing from the command line}}}},
  version = {{{VERSION}}},
  year = {{2026}},
}}"""


def model_keys(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Keys of the papers of a trained model: its own, and those of optional parts that it uses.

    For a model of another package, the attribute ``bibtex`` of its class, if it has one, replaces the keys.
    """
    config = checkpoint.config
    rewards = any(name.partition(":")[0] == "seminfo" for name in checkpoint.facts.teachers)
    parts = {SOFTMAXES: config.model.get("softmaxes", 1) > 1, REWARDS: rewards}
    papers = MODELS.get(config.model_name)
    if papers is None:
        text: str = getattr(load(REGISTERED.get(config.model_name).location), "bibtex", "")
        papers = tuple(entry.strip() for entry in re.findall(r"^@\w+\{.*?^\}", text, re.MULTILINE | re.DOTALL))
    return (*papers, *(key for key, used in parts.items() if used))


def citations(
    models: Iterable[str] = (),
    treebanks: Iterable[str] = (),
    conventions: Iterable[str] = (),
    distances: Iterable[str] = (),
) -> list[str]:
    """BibTeX entries for this program and everything that a result relies on, each once.

    ``models`` are keys or entries of their papers (`model_keys`). Treebanks and conventions without a published
    source, and distances that a model learned, have no entry.
    """
    keys = [*models, *(DISTANCES[name] for name in distances if name in DISTANCES)]
    keys += [PENN_TREEBANK for name in treebanks if name.startswith("wsj")]
    named = (name.partition(",")[0] for name in conventions)  # a composed one begins with the name of another
    keys += [CONVENTIONS[name] for name in named if name in CONVENTIONS]
    entries = read_entries()
    return [PROGRAM, *(key if key.startswith("@") else entries[key] for key in dict.fromkeys(keys))]


def read_entries() -> dict[str, str]:
    """All entries of ``citations.bib`` by key."""
    text = (files("induce") / "citations.bib").read_text("utf-8")
    return {key: entry for entry, key in re.findall(r"(^@\w+\{([^,]+),\n.*?^\})", text, re.MULTILINE | re.DOTALL)}
