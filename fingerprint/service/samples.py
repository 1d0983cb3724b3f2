"""Where runs of the command line get the host's samples from: beside the API's socket, over the wire of readers.

Whoever may ask the API may ask here for what moves of the host, and for nothing else: a run samples its own processes
by itself. What another run has just been given is given again (`recent`).
"""

import os
import platform
import select
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from fingerprint.reader import Reader
from fingerprint.reader.wire import LINE_CAP, Ask, Failed, Hello, Read, Refused, encode, question
from fingerprint.reader.worker import Probes
from fingerprint.service.recent import Pace, Recent
from fingerprint.service.rounds import Waits
from fingerprint.service.turns import IDLE_SECONDS
from fingerprint.snapshot import Job, Key, Provenance, Reading
from fingerprint.version import __version__

MOST_PEERS = 64
TICK_SECONDS, END_SECONDS, AGAIN_SECONDS = 1.0, 0.5, 0.1


class Sampler:
    """Reads what moves of the host for whoever asks. By one thread."""

    def __init__(self, reader: Reader, probes: Probes, recent: Recent, redaction_key: str) -> None:
        """probes: of the host, as they are sampled."""
        self._reader, self._probes, self._recent = reader, probes, recent
        reader.passes_on = True
        self._budget = TICK_SECONDS + sum(probe.budget for probe in probes.values() if probe.asks_nvml)
        self._waits = Waits()
        self._key = redaction_key

    @property
    def greeting(self) -> Hello:
        ours = Provenance(__version__, platform.python_version(), os.geteuid(), self._key)
        return Hello(os.getpid(), self._reader.provenance or ours)

    def answers(self, asked: Ask, oldest: float) -> list[msgspec.Struct]:
        keys = list(dict.fromkeys(Key(area, name) for area, name, _ in asked.jobs))
        mine = [key for key in keys if key.area in self._probes and not key.target]
        found = dict(self._recent.of(mine, oldest))
        found.update(self._read([key for key in mine if key not in found]))
        return [self._told(key, found.get(key)) for key in keys]

    def release(self) -> None:
        self._reader.release(IDLE_SECONDS)

    def close(self) -> None:
        self._reader.close()

    def _read(self, keys: list[Key]) -> Mapping[Key, Reading]:
        for key in self._waits.retry(tuple(self._reader.hung), time.monotonic()):
            self._reader.hung.pop(key, None)
        began = time.monotonic()
        found = dict(self._reader.read([Job(key.area) for key in keys], self._budget)) if keys else {}
        self._recent.keep(found.items(), began)
        self._waits.answered([key for key, reading in found.items() if reading.outcome == "ok"])
        return found

    def _told(self, key: Key, reading: Reading | None) -> msgspec.Struct:
        if reading is None:
            return Failed(key, 0, f"this is not sampled for others: there are {', '.join(sorted(self._probes))}")
        if reading.outcome != "ok":
            return Failed(key, reading.duration_ms, reading.detail)
        section = reading.section(self._probes[key.area].section)  # of what a run of the service read
        return Read(key, reading.duration_ms, msgspec.Raw(encode(section)) if section else reading.volatile)


class _Peer:
    """One who asks, and what he has sent of an unfinished line."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket, self.pace = connected, Pace()
        self.socket.setblocking(False)
        self._rest = b""

    def lines(self) -> list[bytes]:
        """Raises OSError where he is gone, or sends no end of a line."""
        content = self.socket.recv(LINE_CAP)
        *whole, self._rest = (self._rest + content).split(b"\n")
        if not content or len(self._rest) > LINE_CAP:
            raise ConnectionError
        return whole

    def tell(self, message: msgspec.Struct) -> None:
        """Raises OSError also where he does not read: nobody waits for him."""
        self.socket.sendall(encode(message) + b"\n")


class Samples:
    """A thread that answers at a socket, until `close`."""

    def __init__(self, listener: socket.socket, sampler: Sampler) -> None:
        self._listener, self._sampler = listener, sampler
        self._path: str = listener.getsockname()
        self._wake, self._waiting = socket.socketpair()
        self._peers: dict[int, _Peer] = {}
        self._listener.setblocking(False)
        self._thread = threading.Thread(target=self._serve, name="samples", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Waits for no reader that hangs."""
        self._wake.close()
        self._thread.join(END_SECONDS)
        with suppress(OSError):
            os.unlink(self._path)

    def _serve(self) -> None:
        while self._waiting.fileno() not in (ready := self._ready()):
            self._sampler.release()
            for descriptor in ready:
                self._answer(descriptor) if descriptor in self._peers else self._accept()
        for each in (self._waiting, self._listener, *(peer.socket for peer in self._peers.values())):
            each.close()

    def _ready(self) -> list[int]:
        poll = select.poll()
        for descriptor in (self._waiting.fileno(), self._listener.fileno(), *self._peers):
            poll.register(descriptor, select.POLLIN)
        return [descriptor for descriptor, _ in poll.poll(IDLE_SECONDS * 1000)]

    def _accept(self) -> None:
        try:
            connected, _ = self._listener.accept()
        except OSError:  # of descriptors that are all in use: who waits is there at the next look again
            time.sleep(AGAIN_SECONDS)
            return
        with suppress(OSError):
            peer = _Peer(connected)
            if len(self._peers) >= MOST_PEERS:
                peer.tell(Refused(f"all of its {MOST_PEERS} connections are in use"))
                connected.close()
                return
            self._peers[connected.fileno()] = peer
            peer.tell(self._sampler.greeting)

    def _answer(self, descriptor: int) -> None:
        peer = self._peers[descriptor]
        try:
            for line in peer.lines():
                self._answer_to(peer, line)
        except (OSError, msgspec.MsgspecError):
            del self._peers[descriptor]
            peer.socket.close()

    def _answer_to(self, peer: _Peer, line: bytes) -> None:
        asked = question(line)
        if not isinstance(asked, Ask):
            raise ConnectionError
        for message in self._sampler.answers(asked, peer.pace.asked(time.monotonic())):
            peer.tell(message)
