"""Specifications of decoders and priors: ``NAME:OPTION`` and ``NAME:STRENGTH``, and the decoders of a structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from operator import index
from typing import Any

from induce.registry import DECODERS, PRIORS, DecoderEntry, Output, load, score_command
from induce.structures import Distances, Structure
from treebank.base.arguments import canonical
from treebank.base.errors import SynparseError, UsageError
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree

NO_PRIORS = "none"
OWN = "induce."  # beginning of the location of our own decoders


@dataclass(frozen=True)
class Prior:
    """A prior with its strength, written ``NAME:STRENGTH``."""

    name: str
    strength: float

    def __str__(self) -> str:
        return f"{self.name}:{self.strength:g}"


def decoder_entry(name: str) -> DecoderEntry:
    """Entry of the decoder in ``NAME`` or ``NAME:OPTION``. Raises SynparseError."""
    _decoder_options(name)
    return DECODERS.get(canonical_decoder(name).partition(":")[0])


def canonical_decoder(name: str) -> str:
    """The specification with the decoder's own capitals, hyphens and underscores."""
    kind, colon, options = name.partition(":")
    return canonical(DECODERS, kind) + colon + options


def _decoder_options(name: str) -> dict[str, Any]:
    """Options in a decoder's specification, by name. Raises SynparseError for an unknown decoder, option or value."""
    kind, *texts = canonical_decoder(name).split(":")
    options = DECODERS.get(kind).options
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        option = next((option for option in options if option.name == key or not equals), None)
        if option is None:
            names = " or ".join(option.name for option in options)
            raise UsageError(f"decoder {name!r}: {kind} has no option {text!r}" + (f"; it has {names}" * bool(names)))
        text = value if equals else key
        if option.choices and text not in option.choices:
            raise UsageError(f"decoder {name!r}: {option.name} is {' or '.join(option.choices)}, not {text!r}")
        values[option.name] = text if option.choices else _number(text)
        if not option.choices and values[option.name] < 0:
            raise UsageError(f"decoder {name!r}: {option.name} is a number from 0 on, not {text!r}")
    return values


def with_defaults(name: str, defaults: Mapping[str, str]) -> str:
    """The decoder's specification with those of ``defaults`` that it has and does not set itself."""
    kind, options = name.partition(":")[0], _decoder_options(name)
    declared = [option.name for option in DECODERS.get(kind).options if option.name in defaults]
    missing = [option for option in declared if option not in options]
    return ":".join([name, *(f"{option}={defaults[option]}" for option in missing)])


def parse_priors(texts: Sequence[str]) -> tuple[Prior, ...]:
    """Priors from ``NAME:STRENGTH`` each.

    The name ``none`` is ignored, so that it means the empty list. Raises SynparseError for an unknown or a repeated
    name, and for a strength that is missing or out of range.
    """
    priors: list[Prior] = []
    names = [text.partition(":")[0] for text in texts]
    if repeated := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"prior {repeated!r} is named twice; name it once, with one strength")
    for text in texts:
        if text == NO_PRIORS:
            continue
        name, _, number = text.partition(":")
        entry = PRIORS.get(name)
        strength = _number(number)
        if not 0 <= strength <= entry.max_strength:
            limit = f"a strength from 0 to {entry.max_strength:g}"
            raise UsageError(f"prior {text!r}: write {name}:STRENGTH, with {limit}")
        priors.append(Prior(name, strength))
    return tuple(priors)


def check_priors(priors: Iterable[Prior], gives: Sequence[type[Structure]], *, has_counts: bool) -> None:
    """Raise UsageError for a prior that has no effect on a model.

    It reads a structure that is not one of those that the model ``gives``, or counts that the model does not have.
    """
    for prior in priors:
        entry = PRIORS.get(prior.name)
        if entry.reads not in gives:
            structures = " and ".join(structure.name for structure in gives)
            raise UsageError(f"prior {str(prior)!r} needs {entry.reads.name}; this model gives {structures}")
        if entry.needs_counts and not has_counts:
            raise UsageError(
                f"prior {str(prior)!r} needs the counts of a neural PCFG, which neither votes nor other models have"
            )


def _number(text: str) -> float:
    """``text`` as a finite number, or -1."""
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if isfinite(value) else -1.0


def decoder(name: str) -> Any:
    """Decoding function of a specification, ``NAME`` or ``NAME:OPTION``. The results of other packages are checked."""
    entry, options = decoder_entry(name), _decoder_options(name)
    decode = partial(load(entry.location), **options) if options else load(entry.location)
    return decode if entry.location.startswith(OWN) else lambda row: _checked(name, entry, row, decode(row))


def decoder_together(name: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Function from the rows of several sentences to their trees or heads. Those of other packages are checked."""
    entry = decoder_entry(name)
    if not entry.batch_location:
        decode = decoder(name)
        return lambda rows: list(map(decode, rows))
    decode_rows = partial(load(entry.batch_location), **_decoder_options(name))
    if entry.batch_location.startswith(OWN):
        return decode_rows
    return lambda rows: [_checked(name, entry, *pair) for pair in zip(rows, decode_rows(rows), strict=True)]


def _checked(name: str, entry: DecoderEntry, row: Any, result: Any) -> Any:
    """The result of a decoder for ``row``. Raises SynparseError if it is not the tree or heads of so many words."""
    count = entry.reads.words_of(row)
    try:
        if entry.gives == "trees":
            Tree.from_spans([""] * count, [(index(span[0]), index(span[1])) for span in result])
        elif len(result) != count or any(not ROOT <= index(head) < count or head == i for i, head in enumerate(result)):
            raise ValueError(f"not the heads of {count} words: {result!r}")
    except (TypeError, ValueError) as error:
        raise SynparseError(f"decoder {name!r} ({entry.location}) has returned no {entry.gives}: {error}") from None
    return result


def k_best_decoder(name: str, gives: tuple[type[Structure], ...] = ()) -> Callable[[Any, int], list[tuple[float, Any]]]:
    """Function from a row and k to the k best trees, as scores and brackets or heads.

    Raises SynparseError if the decoder of this specification finds one tree only. ``gives`` are the structures of the
    model, whose other decoders are suggested.
    """
    entry = decoder_entry(name)
    if not entry.k_best_location:
        able = [other for other in decoders_of(gives, entry.gives) if decoder_entry(other).k_best_location]
        other_models = "use a grammar, a chart model or an ensemble for several trees"
        remedy = f"try --decoder {' or '.join(able)}" if able else other_models
        raise UsageError(f"decoder {name!r} finds one tree for a sentence; {remedy}")
    return partial(load(entry.k_best_location), **_decoder_options(name))


def decoders_of(gives: tuple[type[Structure], ...], output: Output | None = None) -> list[str]:
    """Names of the decoders of the structures ``gives``, in their order, with ``output`` only those of this output."""
    return [
        name
        for structure in gives
        for name, entry in DECODERS.items()
        if entry.reads is structure and output in (None, entry.gives)
    ]


def fitting_decoder(
    model: str, gives: tuple[type[Structure], ...], name: str = "", *, purpose: str = "", branches_right: bool = False
) -> str:
    """``name``, or if it is empty the default decoder of what ``model`` gives, trained for a ``purpose``.

    The default for distances is ``biased`` if the language clearly ``branches_right``, else ``unbiased``.

    Raises SynparseError if the decoder needs a structure that the model does not give, or the model gives none.
    """
    fitting = decoders_of(gives)
    if not fitting:
        raise SynparseError(f"model {model!r} gives no trees; score it with {score_command(purpose)}")
    if not name:
        return "biased" if branches_right and gives[0] is Distances else fitting[0]
    name = canonical_decoder(name)
    needs = decoder_entry(name).reads
    if needs not in gives:
        names = " and ".join(structure.name for structure in gives)
        raise UsageError(f"model {model!r} gives {names}; decoder {name!r} needs {needs.name} (try {fitting[0]!r})")
    return name
