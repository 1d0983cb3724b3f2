"""Threads for what waits for the store or computes: few, and the same ones for ever, as each has the store open.

What takes long stands in a line of its own, and holds up nothing else.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

from fastapi import Depends, Request

T = TypeVar("T")
LIGHT = 3


class Line:
    """Whoever waits in it takes no thread."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(threads, f"api-{name}")

    async def run(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, act)

    def close(self) -> None:
        """What was not begun is not done."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Lines:
    def __init__(self) -> None:
        self.light, self.snapshots, self.comparisons = Line("light", LIGHT), Line("snapshots"), Line("comparisons")

    def close(self) -> None:
        for line in (self.light, self.snapshots, self.comparisons):
            line.close()


async def _light(request: Request) -> Line:
    line: Line = request.app.state.lines.light
    return line


async def _snapshots(request: Request) -> Line:
    line: Line = request.app.state.lines.snapshots
    return line


async def _comparisons(request: Request) -> Line:
    line: Line = request.app.state.lines.comparisons
    return line


Light = Annotated[Line, Depends(_light)]
Snapshots = Annotated[Line, Depends(_snapshots)]
Comparisons = Annotated[Line, Depends(_comparisons)]
