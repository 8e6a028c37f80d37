"""The table of models by goal that ``train --model help`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

GOALS: Mapping[str, Mapping[str, str]] = {
    "Trees": {
        "onlstm": "LSTM with ordered neurons (Shen et al. 2019)",
        "prpn": "gated attention over phrases (Shen et al. 2018)",
        "ordered-memory": "decisions of a stack (Shen et al. 2019)",
        "tree-transformer": "masked words, distances of each layer (Wang et al. 2019)",
        "segment-edges": "words at the edges of segments, in seconds",
        "diora": "charts that rebuild words (Drozdov et al. 2019)",
        "s-diora": "the same with the best trees only (Drozdov et al. 2020)",
        "ccm": "spans of word classes (Klein and Manning 2002)",
    },
    "Trees with labels and probabilities": {
        "npcfg": "neural PCFG (Kim et al. 2019)",
        "cpcfg": "compound PCFG (Kim et al. 2019)",
        "simple-pcfg": "many symbols with independent children (Liu et al. 2023)",
        "tn-pcfg": "many symbols, low rank (Yang et al. 2021)",
        "urnng": "recurrent grammar of latent trees (Kim et al. 2019)",
    },
    "Dependency heads": {
        "dmv": "word classes, fitted by EM (Klein and Manning 2004)",
        "ndmv": "the same with a network (Jiang et al. 2016)",
        "ndmv-sibling": "with siblings (Yang et al. 2020)",
        "ndmv-lexical": "with words (Yang et al. 2020)",
        "ndmv-joint": "siblings and words that agree (Yang et al. 2020)",
        "udgn": "masked words and a graph of heads (Shen 2022)",
    },
    "Trees and heads": {
        "structformer": "masked words (Shen et al. 2021)",
        "dmv-ccm": "DMV and CCM together (Klein and Manning 2004)",
        "nl-pcfg": "lexicalized PCFG (Zhu et al. 2020)",
        "nbl-pcfg": "lexicalized PCFG, bilexical (Yang et al. 2021)",
    },
    "From trees or heads of another parser, or from gold trees": {
        "chart": "fast parser of phrases, learns with --teacher",
        "biaffine": "fast parser of heads, learns with --teacher",
        "rnng": "recurrent grammar, learns with --teacher",
        "onlstm-syd": "ON-LSTM with the distances of --trees (Du et al. 2020)",
        "prpn-syd": "PRPN with the distances of --trees (Du et al. 2020)",
    },
    "Language models and segments": {
        "lstm": "LSTM without trees (Merity et al. 2017)",
        "transformer": "masked words without trees",
        "ocn": "ends of segments (Shen 2022)",
    },
}


def model_lines() -> Iterator[str]:
    """Lines of the table. Models of other packages are listed by name at the end."""
    from induce.registry import MODELS

    listed = {name for models in GOALS.values() for name in models}
    others = {name: "from another package" for name in MODELS if name not in listed}
    width = max(map(len, MODELS))
    for goal, models in {**GOALS, **({"Other models": others} if others else {})}.items():
        yield f"{goal}:"
        for name, line in models.items():
            yield f"  {name:{width}}  {line}"


def show_models(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """Callback of ``--model`` that prints the table and exits if ``name`` is "help"."""
    if name == "help" and not context.resilient_parsing:
        click.echo("\n".join(model_lines()))
        context.exit()
    return name
