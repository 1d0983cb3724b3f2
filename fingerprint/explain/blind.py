"""What no probe can see and what moves some phase of work all the same: told where nothing likely was found."""

from collections.abc import Iterator, Sequence

import msgspec

from fingerprint.explain.contract import Blind, MetricChange, Suspect
from fingerprint.explain.mechanisms.graph import Phase
from fingerprint.explain.metrics import calls_for_a_cause
from fingerprint.explain.phases import ANY, phases_of_metric
from fingerprint.explain.reach import subject_of
from fingerprint.explain.serving import OF_SERVING, is_of_serving
from fingerprint.explain.subject import Subject

MOST = 5


class Sight(msgspec.Struct, frozen=True):
    """Something outside of what is read. phases: that it moves. look: where it is told."""

    phases: frozenset[Phase]
    what: str
    look: str


def _of(phases: Sequence[Phase], what: str, look: str) -> Sight:
    return Sight(frozenset(phases), what, look)


SIGHTS: tuple[Sight, ...] = (
    _of(("accept length",), "the text that was asked for", "send the very same requests again"),
    _of(
        ("accept length",), "temperature, seed, tokens drafted", "a request's parameters, and the engine's log at start"
    ),
    _of(
        ("verify step", "decode step", "prefill"),
        "kernels, attention backend and graphs chosen",
        "the engine's log at start",
    ),
    _of(
        ("decode step", "verify step"),
        "sequences in a step and their lengths",
        "the engine's metrics",
    ),
    _of(("prefill",), "what the prefix cache held already", "its hit rate, or an empty one in both"),
    _of(
        ("transfer",), "NCCL's algorithm, protocol and channels", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING"
    ),
    _of(("transfer",), "switches, cables, the links' other ends", "the fabric's counters, or another pair"),
    _of(("start-up",), "files of packages still in memory", "start twice in a row, compare the second"),
    _of(("start-up",), "how fast a remote store answered", "the times in the loader's log"),
    _of(("host latency",), "how the client spread its requests", "the client's log of when each was sent"),
    _of(("memory use",), "what was held when it was measured", "torch.cuda.memory_summary(), or the engine's log"),
    _of(("completion",), "what the program said when it ended", "its standard error, and the engine's log"),
    _of(("completion",), "what a service or another rank refused", "the logs of the other ranks and services"),
    _of(("any work",), "the input: what was worked on", "compare the data that is read at run time"),
    _of(("any work",), "waits inside the program and for services", "perf record -g, or py-spy record, of both"),
    _of(
        ("decode step", "verify step", "prefill", "transfer", "start-up", "host latency", "any work"),
        "other guests and hosts on the same links",
        "A's state again now: still fast?",
    ),
)
"""Told in this order."""


def blind(
    metrics: Sequence[MetricChange], suspects: Sequence[Suspect], is_held_up: bool, sides: Sequence[Subject]
) -> tuple[Blind, ...]:
    """Nothing unless a number moved that neither a likely suspect nor a wait goes with."""
    metric = subject_of(metrics)
    if metric is None or not calls_for_a_cause(metric):
        return ()
    if is_held_up or any(suspect.likelihood == "likely" for suspect in suspects):
        return ()
    return tuple(_unseen(metric, sides))[:MOST]


def _unseen(metric: MetricChange, sides: Sequence[Subject]) -> Iterator[Blind]:
    phases = phases_of_metric(metric.name, metric.unit)
    if phases & OF_SERVING and not is_of_serving(metric.name, sides, metric.unit):
        phases = ANY
    for sight in SIGHTS:
        if sight.phases & phases:
            yield Blind(what=sight.what, look=sight.look)
