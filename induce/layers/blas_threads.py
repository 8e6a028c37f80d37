"""Number of threads with which NumPy multiplies matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

PREFIXES = ("scipy_openblas", "openblas")  # of the functions of OpenBLAS in NumPy 2 and in NumPy 1


class OpenBlas(NamedTuple):
    """Functions of OpenBLAS that return and set its number of threads."""

    threads: Callable[[], int]
    set_threads: Callable[[int], object]


@cache
def openblas() -> OpenBlas | None:
    """The OpenBLAS that the wheel of NumPy contains, or None if it contains none."""
    for path in Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        for prefix in PREFIXES:
            if hasattr(library, f"{prefix}_set_num_threads64_"):
                get, change = (getattr(library, f"{prefix}_{verb}_num_threads64_") for verb in ("get", "set"))
                return OpenBlas(get, change)
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply matrices in one thread inside the block, in all threads of this process.

    More threads take several times the CPU time for the small matrices of a student, and compete with other worker
    processes. Without effect if NumPy does not use the OpenBLAS of its wheel.
    """
    library = openblas()
    if library is None:
        yield
        return
    before = library.threads()
    library.set_threads(1)
    try:
        yield
    finally:
        library.set_threads(before)
