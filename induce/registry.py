"""Names that a user types -> where the code is; nothing is imported before it is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from treebank.errors import SynparseError, nearest

if TYPE_CHECKING:
    from induce.config import RunConfig

MODELS = {
    "onlstm": "induce.models.onlstm:OnLstm",
    "onlstm-syd": "induce.models.onlstm_syd:OnLstmSyd",
    "lstm": "induce.models.lstm:Lstm",
    "ordered-memory": "induce.models.ordered_memory:OrderedMemory",
    "prpn": "induce.models.prpn:Prpn",
    "prpn-syd": "induce.models.prpn_syd:PrpnSyd",
    "structformer": "induce.models.structformer:StructFormer",
    "transformer": "induce.models.transformer:Transformer",
    "udgn": "induce.models.udgn:Udgn",
}

SUPERVISED = ("onlstm-syd", "prpn-syd")  # the models that learn from trees, too, and have distances of both kinds
LAYERED = ("onlstm", "onlstm-syd")  # the models that have trees of their own in each layer

TASKS = {
    "listops": "induce.tasks.listops:ListOps",
    "logic": "induce.tasks.logic:Logic",
}

ENCODERS = {  # what --model names where there is a --task
    "ordered-memory": "induce.models.encoders.ordered_memory:MemoryEncoder",
    "lstm": "induce.models.encoders.recurrent:LstmEncoder",
    "onlstm": "induce.models.encoders.recurrent:OnLstmEncoder",
    "transformer": "induce.models.encoders.transformer:TransformerEncoder",
    "tree-lstm": "induce.models.encoders.trees:TreeLstm",
    "tree-rnn": "induce.models.encoders.trees:TreeRnn",
    "tree-cell": "induce.models.encoders.trees:TreeCell",
}

DECODERS = {  # name -> (function, the structure it reads)
    "unbiased": ("induce.decoding.distances:unbiased", "distances"),
    "biased": ("induce.decoding.distances:biased", "distances"),
    "nary": ("induce.decoding.distances:nary", "distances"),
    "chu-liu-edmonds": ("induce.decoding.heads:chu_liu_edmonds", "heads"),
    "eisner": ("induce.decoding.heads:eisner", "heads"),
    "argmax": ("induce.decoding.heads:argmax", "heads"),
    "heights": ("induce.decoding.heights:heights", "heights"),
    "heads-to-tree": ("induce.decoding.phrases:heads_to_tree", "heads"),
    "shift-reduce": ("induce.decoding.stack:shift_reduce", "stack"),
}
TREES_OF_HEADS = ("heads-to-tree",)  # decoders that read heads and give trees


def load(place: str) -> Any:
    """The object at ``"module:object"``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def model_class(name: str) -> Any:
    """The model class called ``name``; an unknown name is a SynparseError that offers the nearest."""
    return load(known(MODELS, name, "model"))


def find_task(name: str) -> Any:
    """The task called ``name``."""
    return load(known(TASKS, name, "task"))()


def kind_of(config: RunConfig) -> Any:
    """The class of the model that a run trains; of its encoder where it learns a task."""
    return load(ENCODERS[config.model_name]) if config.data.task else model_class(config.model_name)


def check_layer(config: RunConfig, layer: int) -> None:
    """Raises ValueError if the model of ``config`` has no trees of ``layer``, counted from 1."""
    layered = config.model_name in LAYERED and not config.data.task
    layers = config.model.get("layers", 1) if layered else 1
    if not 1 <= layer <= layers:
        trees = f"layers 1 to {layers}" if layered else "one set of trees, as layer 1"
        raise ValueError(f"there is no layer {layer}; this {config.model_name!r} has {trees}")


def make_model(config: RunConfig, symbols: int) -> Any:
    """The untrained model of a run over ``symbols`` words. ValueError, TypeError: its settings do not fit together."""
    kind = kind_of(config)
    model = kind(kind.Config(**config.model), symbols)
    if not config.data.task:
        return model
    from induce.models.classifier import Classifier, ClassifierShape

    task = find_task(config.data.task)
    dropout = float(config.model["classifier_dropout"])
    return Classifier(model, ClassifierShape(task.sides, len(task.labels), dropout))


def decoder(name: str) -> Any:
    """The decoding function called ``name``."""
    return load(known(DECODERS, name, "decoder")[0])


def structure_of(name: str) -> str:
    """What the decoder called ``name`` reads: "distances", "heads", "heights" or "stack"."""
    structure: str = known(DECODERS, name, "decoder")[1]
    return structure


def output_of(name: str) -> str:
    """What the decoder called ``name`` gives: "trees" or "heads"."""
    return "heads" if structure_of(name) in ("heads", "heights") and name not in TREES_OF_HEADS else "trees"


def check_pairing(model: str, gives: tuple[str, ...], name: str, *, task: str | None = None) -> None:
    """Raises SynparseError if decoder ``name`` needs a structure that ``model``, of a ``task`` or of text, lacks."""
    needs = structure_of(name)
    if not gives:
        instead = f"--task {task}" if task else "--text FILE"
        raise SynparseError(f"model {model!r} gives no trees; score it with synparse eval {instead}")
    if needs not in gives:
        fitting = [other for other, (_, structure) in DECODERS.items() if structure in gives]
        raise SynparseError(
            f"model {model!r} gives {' and '.join(gives)}; decoder {name!r} needs {needs} (try {fitting[0]!r})"
        )


def known(table: Mapping[str, Any], name: str, kind: str) -> Any:
    """``table[name]``, or a SynparseError that names the nearest key."""
    if name not in table:
        raise SynparseError(f"there is no {kind} {name!r}; {nearest(name, table)}")
    return table[name]
