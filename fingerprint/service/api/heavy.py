"""What takes long is done one at a time of its kind, and holds up nothing else."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

T = TypeVar("T")


class Line:
    """Whoever waits in it takes no thread."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)

    async def run(self, act: Callable[[], T]) -> T:
        return await to_thread.run_sync(act, limiter=self._limiter)


class Lines:
    def __init__(self) -> None:
        self.snapshots, self.comparisons = Line(), Line()


async def _snapshots(request: Request) -> Line:
    line: Line = request.app.state.lines.snapshots
    return line


async def _comparisons(request: Request) -> Line:
    line: Line = request.app.state.lines.comparisons
    return line


Snapshots = Annotated[Line, Depends(_snapshots)]
Comparisons = Annotated[Line, Depends(_comparisons)]
