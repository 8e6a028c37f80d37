"""Reading and scoring without the search for circles among objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Inside, Python does not look for circles among objects: trees have none, and to look through all takes long."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # else the two calls would let loose what somebody else has frozen
                gc.freeze()  # these two make all that is there old, without a look, so that enabling looks through none
                gc.unfreeze()
            gc.enable()
