"""Several processes that train one model, as with ``torchrun``, but forked from this process and its modules."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed

from induce.training.distributed import ProcessGroup, join

FORK = multiprocessing.get_context("fork")
Work = Callable[[ProcessGroup], None]


def _begin(work: Work, rank: int, size: int, store: Path) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        if size > 1:
            distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
        work(join())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def run_group(work: Work, size: int, folder: Path) -> list[int | None]:
    """Exit codes of ``size`` forks of this process that run ``work`` as one group, None for one that hangs."""
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])  # loads modules of torch once, before the fork
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / f"store-{len(list(folder.iterdir()))}"
    copies = [FORK.Process(target=_begin, args=(work, rank, size, store)) for rank in range(size)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join(300)
    codes = [copy.exitcode for copy in copies]
    for copy in copies:
        copy.kill()
    return codes
