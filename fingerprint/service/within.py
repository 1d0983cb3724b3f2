"""A connection that is over at a moment, however slowly the other side answers."""

import socket
import time
from typing import Any


class _Within(socket.socket):
    def __init__(self, ends: float) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ends = ends

    def hurry(self) -> None:
        """What is done next ends in time. Raises TimeoutError where there is none left."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)

    def recv_into(self, *args: Any) -> int:
        self.hurry()
        return super().recv_into(*args)

    def sendall(self, *args: Any) -> None:
        self.hurry()
        return super().sendall(*args)


def connected(path: str, ends: float) -> socket.socket:
    """ends: on the monotonic clock. Raises OSError; TimeoutError at that moment, also from all that is done with it."""
    connection = _Within(ends)
    try:
        connection.hurry()
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection
