"""The worker's side: a forked process with a session of its own and no descriptor but its socket."""

import gc
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping

import msgspec

from fingerprint.fork import fork_bare
from fingerprint.reader.wire import LINE_CAP, Ask, AskTree, Begin, Failed, Read, Refused, Tree, encode, question
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, Target

Probes = Mapping[str, Probe[Section]]


class Answers:
    """What a worker makes of a question."""

    def __init__(self, host: Host, probes: Probes) -> None:
        self.host, self.probes = host, probes

    def greeting(self) -> msgspec.Struct | None:
        """What it says before it is asked."""
        return None

    def to(self, line: bytes) -> Iterator[msgspec.Struct]:
        """After `Refused` there is nothing more to be said."""
        try:
            asked = question(line)
        except msgspec.MsgspecError as error:
            words = str(error) if len(line) <= LINE_CAP else f"the line is longer than {LINE_CAP >> 10} KiB"
            yield Refused(f"this is no question: {words}")
            return
        yield from self._tree(asked) if isinstance(asked, AskTree) else self._sections(asked)

    def objection(self, area: str, target: Target) -> str:
        """Why this is not read; empty where it is."""
        return ""

    def words(self, error: Exception) -> str:
        """What is told of what a probe raised."""
        return f"{type(error).__name__}: {error}"

    def _sections(self, asked: Ask) -> Iterator[msgspec.Struct]:
        self.host.begin_moment()
        for area, name, pid in asked.jobs:
            yield from self._section(area, Target(name, pid), asked.sample)

    def _section(self, area: str, target: Target, sample: bool) -> Iterator[msgspec.Struct]:
        of = area, target.name
        if why := self.objection(area, target):
            yield Failed(of, 0, why)
            return
        yield Begin(of)
        began = time.perf_counter()
        try:
            probe = self.probes[area]
            section = encode((probe.at_samples if sample else probe).read(self.host, target))
        except Exception as error:  # noqa: BLE001  # whatever a probe raises is its section's outcome
            yield Failed(of, _ms_since(began), self.words(error))
        else:
            yield Read(of, _ms_since(began), msgspec.Raw(section))

    def _tree(self, asked: AskTree) -> Iterator[msgspec.Struct]:
        from probes.process import tree

        root = Target(asked.name, asked.pid)
        if why := self.objection("process", root):
            yield Refused(why)
        else:
            yield Tree(tuple((target.name, target.pid) for target in tree(self.host, root)))


def fork_worker(asker: socket.socket, answers: Answers) -> int:
    """The pid of a worker that answers questions until the asker's end of the socket closes.

    A bare fork: an inherited stream or lock would hang the asker's pipeline for as long as the worker is stuck.
    """
    return fork_bare([asker.fileno()], lambda: _work(asker, answers))


def _work(asker: socket.socket, answers: Answers) -> None:
    os.setsid()
    _shed_signals()
    gc.freeze()  # a collection looks at what is new alone, and dirties no shared pages
    _serve(asker, answers)


def _shed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGWINCH):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _serve(asker: socket.socket, answers: Answers) -> None:
    if hello := answers.greeting():
        asker.sendall(encode(hello) + b"\n")
    with asker.makefile("rb", buffering=1 << 16) as lines:
        while line := lines.readline(LINE_CAP + 1):
            for message in answers.to(line):
                asker.sendall(encode(message) + b"\n")
                if isinstance(message, Refused):
                    return


def _ms_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
