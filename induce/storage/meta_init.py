"""Models without random numbers in them: for those without memory, which could not hold any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

FILLS = {
    Tensor.normal_,
    Tensor.uniform_,
    nn.init.kaiming_uniform_,
    nn.init.normal_,
    nn.init.uniform_,
}


class Unfilled(TorchFunctionMode):
    """Within the block nothing is drawn, which on torch's "meta" device takes seconds and loads its compiler."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """``function`` is called; one that fills a tensor gives it as it is."""
        named = named or {}
        if function in FILLS:
            return arguments[0] if arguments else named["tensor"]
        return function(*arguments, **named)
