"""The worker's side: a forked process with a session of its own and no descriptor but its socket."""

import gc
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping

import msgspec

from fingerprint.fork import fork_bare
from fingerprint.reader.wire import Ask, AskTree, Begin, Failed, Read, Tree, encode, question
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import Probe, Target

Probes = Mapping[str, Probe[Section]]


def fork_worker(asker: socket.socket, host: Host, probes: Probes) -> int:
    """The pid of a worker that answers questions until the asker's end of the socket closes.

    A bare fork: an inherited stream or lock would hang the asker's pipeline for as long as the worker is stuck.
    """
    return fork_bare([asker.fileno()], lambda: _work(asker, host, probes))


def _work(asker: socket.socket, host: Host, probes: Probes) -> None:
    os.setsid()
    _shed_signals()
    gc.disable()  # it lives for a few readings; a collection would only dirty shared pages
    _serve(asker, host, probes)


def _shed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGWINCH):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _serve(asker: socket.socket, host: Host, probes: Probes) -> None:
    with asker.makefile("rwb", buffering=1 << 16) as stream:
        for line in stream:
            for message in _answers(line, host, probes):
                stream.write(encode(message) + b"\n")
                stream.flush()


def _answers(line: bytes, host: Host, probes: Probes) -> Iterator[msgspec.Struct]:
    asked = question(line)
    if isinstance(asked, AskTree):
        yield _tree(host, Target(asked.name, asked.pid))
    else:
        yield from _sections(asked, host, probes)


def _sections(asked: Ask, host: Host, probes: Probes) -> Iterator[msgspec.Struct]:
    host.begin_moment()
    for area, name, pid in asked.jobs:
        yield Begin((area, name))
        began = time.perf_counter()
        try:
            section = encode(probes[area].read(host, Target(name, pid)))
        except Exception as error:  # noqa: BLE001  # whatever a probe raises is its section's outcome
            yield Failed((area, name), _ms_since(began), f"{type(error).__name__}: {error}")
        else:
            yield Read((area, name), _ms_since(began), msgspec.Raw(section))


def _tree(host: Host, root: Target) -> Tree:
    from probes.process import tree

    return Tree(tuple((target.name, target.pid) for target in tree(host, root)))


def _ms_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
