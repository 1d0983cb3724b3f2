"""Copies the command's output to where it would have gone, and keeps its end for a reader.

Only where a reader of output was asked for. The pump is a process of its own session: it gets no signal
of the terminal's, and when fingerprint is killed it goes on until the command closes its output. When
whoever reads the original goes away, the pump ends, so the command meets SIGPIPE (EIO on a terminal)
as it would have without it.
"""

import fcntl
import os
import select
import signal
import socket
import termios
import time
import tty
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fingerprint.fork import fork_bare
from fingerprint.runs.relay import Relay
from fingerprint.runs.wrap import Command
from probes.kit.unnamed import unnamed_file

TAIL = 4 << 20  # bytes that are kept for the reader
CHUNK = 1 << 16
_RESIZE, _DRAIN = b"r", b"d"


class Channel(NamedTuple):
    """One way of output: what the command writes to, what the pump reads, and the original."""

    command_end: int
    pump_end: int
    original: int
    streams: tuple[int, ...]


class Tail:
    """The last TAIL bytes in anonymous memory that two processes share: 8 bytes of count, then a ring."""

    def __init__(self, size: int = TAIL) -> None:
        self.fd = unnamed_file("fingerprint-output")
        self._size = size
        self._count = 0

    def add(self, data: bytes) -> None:
        kept = data[-self._size :]
        at = (self._count + len(data) - len(kept)) % self._size
        first = kept[: self._size - at]
        os.pwrite(self.fd, first, 8 + at)
        os.pwrite(self.fd, kept[len(first) :], 8)
        self._count += len(data)
        os.pwrite(self.fd, self._count.to_bytes(8, "little"), 0)

    def content(self) -> bytes:
        """What was added last, by whichever process."""
        count = int.from_bytes(os.pread(self.fd, 8, 0), "little")
        ring = os.pread(self.fd, self._size, 8)
        at = count % self._size
        return ring if count <= self._size else ring[at:] + ring[:at]


class Pump:
    """A running pump. `streams` go to the command's start; call `started` once it runs.

    fileno() is readable when `resized` is to be asked, or the pump has ended.
    """

    def __init__(self, streams: Sequence[int] = (1,), tail: int = TAIL) -> None:
        """streams: 1, 2 or both; two that lead to one place share a channel, so that their order is kept."""
        self._tail = Tail(tail)
        self._channels = _channels(streams)
        self._control, theirs = socket.socketpair()
        kept = {theirs.fileno(), self._tail.fd}
        kept.update(fd for channel in self._channels for fd in (channel.pump_end, channel.original))
        self.pid = fork_bare(kept, lambda: _pump(theirs, self._channels, self._tail))
        theirs.close()
        self._ended = False
        for channel in self._channels:
            os.close(channel.pump_end)

    @property
    def streams(self) -> Mapping[int, int]:
        """What the command is to have in the place of its streams."""
        return {stream: channel.command_end for channel in self._channels for stream in channel.streams}

    def started(self) -> None:
        """Lets go of the command's ends: from now on the pump ends when the command's are closed."""
        for channel in self._channels:
            os.close(channel.command_end)

    def fileno(self) -> int:
        return self._control.fileno()

    def resize(self) -> None:
        """Asks for the original's window size to be given to the command's terminal."""
        _tell(self._control, _RESIZE)

    def resized(self) -> bool:
        """Whether the answer has come: the command may be told (SIGWINCH)."""
        answer = _received(self._control, socket.MSG_DONTWAIT)
        self._ended = answer == b""
        return _RESIZE in (answer or b"")

    @property
    def ended(self) -> bool:
        """Whether the pump was seen to be gone: nothing more comes, and fileno() stays readable."""
        return self._ended

    def drain(self, seconds: float) -> bool:
        """Whether all that was written so far has been copied, or the pump has ended, within `seconds`."""
        _tell(self._control, _DRAIN)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._control.settimeout(left)
            answer = _received(self._control)
            self._ended = answer == b""
            if self._ended or _DRAIN in (answer or b""):
                return True
        return False

    def output(self) -> bytes:
        """The end of what the command wrote, at most `tail` bytes."""
        return self._tail.content()

    def close(self) -> None:
        """Lets the pump go; it lives on for as long as somebody may still write."""
        self._control.close()
        os.close(self._tail.fd)
        os.waitpid(self.pid, 0 if self._ended else os.WNOHANG)


def _channels(streams: Sequence[int]) -> list[Channel]:
    by_place: dict[tuple[int, int, int], list[int]] = {}
    for stream in streams:
        info = os.fstat(stream)
        by_place.setdefault((info.st_dev, info.st_ino, info.st_rdev), []).append(stream)
    return [_channel(tuple(same)) for same in by_place.values()]


def _channel(streams: tuple[int, ...]) -> Channel:
    original = streams[0]
    if not os.isatty(original):
        pump_end, command_end = os.pipe()
        return Channel(command_end, pump_end, original, streams)
    pump_end, command_end = os.openpty()
    # The real terminal makes \r\n of \n itself; twice would not be byte for byte.
    mode = termios.tcgetattr(command_end)
    mode[tty.OFLAG] &= ~termios.OPOST
    termios.tcsetattr(command_end, termios.TCSANOW, mode)
    _copy_size(original, pump_end)
    return Channel(command_end, pump_end, original, streams)


def _copy_size(original: int, pump_end: int) -> None:
    try:
        size = fcntl.ioctl(original, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(pump_end, termios.TIOCSWINSZ, size)
    except OSError:
        return


def _pump(control: socket.socket, channels: Sequence[Channel], tail: Tail) -> None:
    os.setsid()
    live = {channel.pump_end: channel for channel in channels}
    poll = select.poll()
    for fd in (*live, control.fileno()):
        poll.register(fd, select.POLLIN)
    draining = False
    while live:
        ready = [fd for fd, _ in poll.poll(0 if draining else None)]
        for fd in live.keys() & ready:
            if not _copy(live[fd], tail):
                poll.unregister(fd)
                _close(live.pop(fd))
        if control.fileno() in ready:
            draining |= _obey(control, poll, channels)
        elif draining and not ready:
            draining = False
            _tell(control, _DRAIN)


def _obey(control: socket.socket, poll: "select.poll", channels: Sequence[Channel]) -> bool:
    """Whether draining was asked for. When fingerprint is gone nobody asks any more."""
    asked = _received(control) or b""
    if not asked:
        poll.unregister(control.fileno())
    if _RESIZE in asked:
        for channel in channels:
            _copy_size(channel.original, channel.pump_end)
        _tell(control, _RESIZE)
    return _DRAIN in asked


def _received(control: socket.socket, flags: int = 0) -> bytes | None:
    """None where nothing has come; empty where the other side is gone."""
    try:
        return control.recv(64, flags)
    except (BlockingIOError, TimeoutError):
        return None
    except OSError:  # ECONNRESET: it went with a word of ours unread
        return b""


def _tell(control: socket.socket, message: bytes) -> None:
    try:
        control.sendall(message)
    except OSError:
        return


def _close(channel: Channel) -> None:
    """Both ends, so that the command meets SIGPIPE and the original's reader its end."""
    os.close(channel.pump_end)
    os.close(channel.original)


def _copy(channel: Channel, tail: Tail) -> bool:
    """One chunk. False at the end of the output, or when its original is gone."""
    try:
        data = os.read(channel.pump_end, CHUNK)
    except OSError:  # EIO: the last writer closed the terminal
        return False
    if data:
        tail.add(data)
    return bool(data) and _write(channel.original, data)


def _write(original: int, data: bytes) -> bool:
    """Whether all was taken; False where whoever read it is gone."""
    left = memoryview(data)
    try:
        while left:
            left = left[_write_some(original, left) :]
    except OSError:
        return False
    return True


def _write_some(original: int, data: memoryview) -> int:
    try:
        return os.write(original, data)
    except BlockingIOError:
        # Whoever shares the original's open file may have made it non-blocking.
        select.select([], [original], [])
        return 0


class Resizing:
    """Passes window sizes on. The command meets SIGWINCH with the terminal's group, before its own output has
    the new size, so it is sent another when that has come."""

    def __init__(self, pump: Pump, relay: Relay, command: Command) -> None:
        self._pump = pump
        self._relay = relay
        self._command = command

    def fileno(self) -> int | None:
        return None if self._pump.ended else self._pump.fileno()

    def timeout(self, now: float) -> float | None:
        return None

    def step(self, now: float) -> None:
        if self._relay.window_changed:
            self._relay.window_changed = False
            self._pump.resize()
        if not self._pump.ended and self._pump.resized():
            self._command.send(signal.SIGWINCH)
