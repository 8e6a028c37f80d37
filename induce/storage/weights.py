"""Weights in a safetensors file, compared with the model that the settings describe before any memory is taken.

What a file says of itself is never believed: a header of a few bytes can promise, and settings of a few bytes can ask
for, more memory than there is. So the header is read first and compared with the size of the file; the model is built
without memory (torch's "meta" device), stopped if it has far more parts than the file has tensors, and compared with
the header. Only then is the file read and the model built.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from torch import Tensor, nn

LARGEST_HEADER = 1 << 24  # bytes, some 100,000 tensors
SPARE_BYTES = 1 << 26  # of tables that a model makes anew and the file does not hold
LEAST_LIMIT = 1 << 22  # of a whole number in the settings, however small the file
SPARE_PARTS = 1000  # of modules and tables, beyond PARTS_A_TENSOR for each tensor in the file
PARTS_A_TENSOR = 20
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}  # of the format -> of torch


@dataclass(frozen=True)
class Entry:
    """What a header says of one tensor."""

    dtype: str  # as torch calls it
    shape: tuple[int, ...]

    def fills(self, wanted: Entry) -> bool:
        """Whether a parameter like ``wanted`` can be filled with it: a half-precision number is a single one, too."""
        return self == wanted or (self.shape == wanted.shape and wanted.dtype == "float32" and self.dtype == "float16")


def read_header(stream: BinaryIO, size: int) -> dict[str, Entry]:
    """Name of each tensor -> its type and shape, from the beginning of a file of ``size`` bytes.

    Raises ValueError if this is no header, or promises another number of bytes than the file has.
    """
    stream.seek(0)
    start = stream.read(8)
    if len(start) < 8:
        raise ValueError("the file is too short")
    (length,) = struct.unpack("<Q", start)
    if length > min(LARGEST_HEADER, size - 8):
        raise ValueError(f"the header cannot be {length} bytes long")
    try:
        content = json.loads(stream.read(length))
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("the header is no object")
    content.pop("__metadata__", None)
    end, header = 0, {}
    for name, value in content.items():
        header[name], first, last = _entry(name, value)
        end = max(end, last)
        wide = prod(header[name].shape) * _width(header[name].dtype)
        if last - first != wide:
            raise ValueError(f"tensor {name!r} of {wide} bytes is said to take {last - first}")
    if end != size - 8 - length:
        raise ValueError(f"the header promises {end} bytes of weights, the file holds {size - 8 - length}")
    return header


def _entry(name: str, value: Any) -> tuple[Entry, int, int]:
    """What the header says of tensor ``name``, and where it begins and ends. Raises ValueError."""
    try:
        shape, offsets, dtype = value["shape"], value["data_offsets"], DTYPES[value["dtype"]]
        first, last = offsets
        numbers = [*shape, first, last]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"the header says nothing useful of tensor {name!r}") from None
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(f"the header says nothing useful of tensor {name!r}")
    return Entry(dtype, tuple(shape)), first, last


def _width(dtype: str) -> int:
    """Bytes of one number."""
    return 1 if dtype == "bool" else int("".join(filter(str.isdigit, dtype))) // 8


def check_numbers(settings: Mapping[str, Any], size: int) -> None:
    """Raises ValueError for a whole number among ``settings`` that no model of a file of ``size`` bytes can need.

    Such a number could make a model count to it, or take memory for it, before it has any part.
    """
    for name, value in settings.items():
        if isinstance(value, int) and value > max(size, LEAST_LIMIT):
            raise ValueError(f"{name} = {value} is out of all proportion to the weights")


def check_fit(make: Callable[[], nn.Module], header: dict[str, Entry]) -> None:
    """Raises ValueError if what ``make`` builds does not have the tensors of ``header``, no more and no less.

    Numbers of half precision stand for single ones. Takes no memory.
    """
    import torch

    from induce.storage.meta_init import Unfilled

    with torch.device("meta"), Unfilled(), _bounded(PARTS_A_TENSOR * len(header) + SPARE_PARTS):
        model = make()
    tensors = model.state_dict()
    wanted = {
        name: Entry(str(value.dtype).removeprefix("torch."), tuple(value.shape)) for name, value in tensors.items()
    }
    for name in [*wanted, *header]:
        if not (name in wanted and name in header and header[name].fills(wanted[name])):
            raise ValueError(
                f"{name}: the settings ask for {_said(wanted.get(name))}, the file has {_said(header.get(name))}"
            )
    others = [value for name, value in model.named_buffers() if name not in tensors]
    if sum(value.numel() * value.element_size() for value in others) > SPARE_BYTES:
        raise ValueError("the settings ask for tables that are out of all proportion to the weights")


def _said(entry: Entry | None) -> str:
    return "nothing" if entry is None else f"{entry.dtype} of shape {list(entry.shape)}"


@contextmanager
def _bounded(most: int) -> Iterator[None]:
    """Stops with ValueError, in this thread, a model that gets more than ``most`` parts."""
    from threading import get_ident

    from torch.nn.modules import module

    left, thread = most, get_ident()

    def count(*_: object) -> None:
        nonlocal left
        left -= get_ident() == thread
        if left < 0:
            raise ValueError("the settings ask for far more layers than the file has")

    handles = [
        module.register_module_parameter_registration_hook(count),
        module.register_module_buffer_registration_hook(count),
        module.register_module_module_registration_hook(count),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def halved(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Single-precision numbers in half precision, others as they are. Raises ValueError if one is too large for it."""
    import torch

    result = {name: value.half() if value.dtype == torch.float32 else value for name, value in tensors.items()}
    for name, value in result.items():
        if not value.isfinite().all():
            raise ValueError(f"{name} holds numbers that are too large for half precision")
    return result


def parse(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a whole file. Raises ValueError if it is damaged, or a weight is not a number."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
    except (KeyError, SafetensorError) as error:
        raise ValueError(str(error)) from None
    if not all(value.isfinite().all() for value in tensors.values()):
        raise ValueError("it holds weights that are not numbers")
    return tensors
