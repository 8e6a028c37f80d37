"""Declaration of single settings, whose values `induce.settings.run` checks.

Each component (a model, a loader, an optimizer) declares its settings in a frozen dataclass next to its code:

    @dataclass(frozen=True, kw_only=True)
    class StreamSettings:
        batch_size: int = setting(32, at_least=1, at_most=1e6, help="parallel columns of the stream")

A setting may have a condition (``when=equal("data.token", "class")``): it is refused in a run where it has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Condition:
    """Function of the settings of a run, with a name for messages. It says whether a setting has an effect."""

    name: str
    holds: Callable[[Any], bool]  # of a `RunConfig`

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"{self.name} and {other.name}", lambda config: self.holds(config) and other.holds(config))

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"{self.name} or {other.name}", lambda config: self.holds(config) or other.holds(config))


def equal(name: str, *values: Any) -> Condition:
    """Condition that the setting ``table.key`` has one of these values."""
    text = "|".join(map(setting_text, values))
    return Condition(f"{name}={text}", lambda config: config.value(name) in values)


def unequal(name: str, value: Any) -> Condition:
    """Condition that the setting ``table.key`` does not have this value."""
    return Condition(f"{name}!={setting_text(value)}", lambda config: config.value(name) != value)


def setting_text(value: Any) -> str:
    """Value of a setting in the form that ``--set`` reads."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


ALWAYS = Condition("", lambda config: True)
BY_GRADIENTS = unequal("optimizer.name", "none")


def setting(
    default: Any,
    *,
    help: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
    choices: Iterable[str] = (),
    when: Condition = ALWAYS,
) -> Any:
    """A field of a dataclass of settings. ``when`` is the condition under which it has an effect in a run."""
    metadata = {"at_least": at_least, "at_most": at_most, "choices": tuple(choices), "help": help, "when": when}
    return field(default=default, metadata=metadata)


def limited(default: float, low: float, high: float, help: str, *, when: Condition = ALWAYS) -> Any:
    """A setting that is a number from ``low`` to ``high``."""
    return setting(default, at_least=low, at_most=high, help=help, when=when)


def choice(default: str, choices: Iterable[str], help: str, *, when: Condition = ALWAYS) -> Any:
    """A setting that is one of several names."""
    return setting(default, choices=choices, help=help, when=when)


def count(default: int, help: str, *, when: Condition = ALWAYS) -> Any:
    """A setting that is a number of things, at least 1."""
    return setting(default, at_least=1, at_most=1e9, help=help, when=when)


def dropout_rate(default: float, help: str) -> Any:
    """A setting that is a dropout rate."""
    return setting(default, at_least=0.0, at_most=0.99, help=help)


def share(default: float, help: str, *, when: Condition = ALWAYS) -> Any:
    """A setting that is a share, from 0 to 1."""
    return setting(default, at_least=0.0, at_most=1.0, help=help, when=when)


def weight(default: float, help: str, *, when: Condition = ALWAYS) -> Any:
    """A setting that is a weight of at least 0."""
    return setting(default, at_least=0.0, at_most=1e9, help=help, when=when)
