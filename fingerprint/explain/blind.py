"""What no probe can see and what moves some phase of work all the same: told where nothing likely was found."""

from collections.abc import Iterator, Sequence

import msgspec

from fingerprint.explain.contract import Blind, MetricChange, Suspect
from fingerprint.explain.mechanisms.graph import Phase
from fingerprint.explain.metrics import calls_for_a_cause
from fingerprint.explain.phases import phases_of_metric
from fingerprint.explain.reach import subject_of
from probes.kit.probe import areas

MOST = 5


class Sight(msgspec.Struct, frozen=True):
    """Something outside of what is read. phases: that it moves. look: where it is told. until: the area of a probe
    that would see it."""

    phases: frozenset[Phase]
    what: str
    look: str
    until: str = ""


def _of(phases: Sequence[Phase], what: str, look: str, until: str = "") -> Sight:
    return Sight(frozenset(phases), what, look, until)


SIGHTS: tuple[Sight, ...] = (
    _of(
        ("accept length",),
        "the text that was asked for: prompts, their order, their language",
        "compare the requests of both runs byte by byte, and send the same ones again",
    ),
    _of(
        ("accept length",),
        "how it was sampled: temperature, seed, how many tokens are drafted",
        "the parameters of a request, and what the engine printed at its start",
    ),
    _of(
        ("verify step", "decode step", "prefill"),
        "which kernels, attention backend and captured graphs the engine chose",
        "compare what the engine printed at its start, or profile one step of each (nsys profile)",
    ),
    _of(
        ("decode step", "verify step"),
        "how many sequences of which length a step had",
        "the engine's own metrics of running and waiting requests, over time",
    ),
    _of(
        ("prefill",),
        "how much of the prompts the prefix cache already held",
        "the engine's hit rate of the prefix cache; start both with an empty one",
    ),
    _of(
        ("decode step", "verify step", "prefill", "accept length", "transfer", "start-up"),
        "the versions of the libraries that were loaded",
        "pip freeze (or the image's digest) in both",
        until="libraries",
    ),
    _of(
        ("transfer",),
        "which algorithm, protocol and channels NCCL chose",
        "its log in both runs: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING",
    ),
    _of(
        ("transfer",),
        "switches, cables and the other ends of links",
        "the fabric's own counters, and the same copy between another pair",
    ),
    _of(
        ("start-up",),
        "whether files and compiled kernels were still in a cache",
        "start twice in a row and compare the second starts",
    ),
    _of(
        ("start-up",),
        "how fast a remote store or registry answered",
        "the time stamps of the loader's log",
    ),
    _of(
        ("host latency",),
        "how the client spread its requests over time",
        "the client's own log of when each was sent",
    ),
    _of(
        ("any work",),
        "the input: what was worked on",
        "compare the data and the parameters that are read at run time",
    ),
    _of(
        ("any work",),
        "what the program waited for inside and elsewhere: locks, other services",
        "profile one run of each and compare (perf record -g, or py-spy record)",
    ),
    _of(
        ("decode step", "verify step", "prefill", "transfer", "start-up", "host latency", "any work"),
        "other guests and hosts that share memory bandwidth, links or the chassis",
        "run A's state again now: if it is no longer fast, the cause lies outside of what differs",
    ),
)
"""Told in this order."""


def blind(metrics: Sequence[MetricChange], suspects: Sequence[Suspect], is_held_up: bool) -> tuple[Blind, ...]:
    """Nothing unless a number moved that neither a likely suspect nor a wait goes with."""
    metric = subject_of(metrics)
    if metric is None or not calls_for_a_cause(metric):
        return ()
    if is_held_up or any(suspect.likelihood == "likely" for suspect in suspects):
        return ()
    return tuple(_unseen(metric))[:MOST]


def _unseen(metric: MetricChange) -> Iterator[Blind]:
    phases = phases_of_metric(metric.name, metric.unit)
    for sight in SIGHTS:
        if sight.phases & phases and sight.until not in areas():
            yield Blind(what=sight.what, look=sight.look)
