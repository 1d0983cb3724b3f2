"""GET /metrics, in Prometheus' text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).

What was not read has no sample: `fingerprint_probe_outcome` tells why.
"""

import os
import resource
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fingerprint.documents import types_of
from fingerprint.places import place_of
from fingerprint.sections import leaves
from fingerprint.service.api.guard import Counts
from fingerprint.service.api.kept import Computed
from probes.kit.facts import Fact

if TYPE_CHECKING:
    from fingerprint.service.api.asked import Health, Service
    from fingerprint.snapshot import Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
THROTTLED = ("gpu/*/clocks_event_reasons_counters/", "cpu/packages/*/throttle_")
COUNTED = ("memory/vmstat/oom_kill", "driver/kernel_log/")


class Sample(NamedTuple):
    labels: dict[str, str]
    value: float


class Family(NamedTuple):
    """One metric with its samples. kind: counter or gauge."""

    name: str
    kind: str
    says: str
    samples: Iterable[Sample]


def page(service: "Service", counts: Counts, computed: Computed) -> str:
    return "".join(map(_told, _families(service, counts, computed)))


def _families(service: "Service", counts: Counts, computed: Computed) -> Iterator[Family]:
    yield from _of_health(service.health())
    newest = service.newest()
    if newest is not None:
        yield from _of_host(newest)
        drift = computed.drift(service.store(), newest)
        yield Family(
            "fingerprint_drift_facts", "gauge", "Lasting facts of the host that differ from the last good run.",
            [Sample({"run": drift.run}, drift.facts)] if drift else [],
        )  # fmt: skip
    yield Family(
        "fingerprint_run_metric", "gauge", "Of the last run of each name, what it measured: the median, in `unit`.",
        [Sample(labels, value) for labels, value in computed.run_metrics(service.store())],
    )  # fmt: skip
    yield from _of_api(service, counts)
    yield from _of_process()


def _of_health(health: "Health") -> Iterator[Family]:
    areas = health.areas.items()
    ages = [Sample({"area": area}, it.age_s) for area, it in areas if it.age_s is not None]
    outcomes = [Sample({"area": area, "outcome": it.outcome}, 1) for area, it in areas]
    yield _one("fingerprint_build_info", "gauge", "This release.", 1, {"version": health.fingerprint})
    yield _one("fingerprint_start_time_seconds", "gauge", "When the service started.", health.started / 1e9)
    yield _one("fingerprint_healthy", "gauge", "Whether all of the service is as it should be.", health.ok)
    yield _one("fingerprint_store_healthy", "gauge", "Whether the store takes what it is given.", not health.store)
    yield _one("fingerprint_store_bytes", "gauge", "Size of the store.", health.store_bytes)
    yield _one("fingerprint_reader_healthy", "gauge", "Whether the reader answers.", not health.reader)
    yield _one("fingerprint_runs_open", "gauge", "Runs that go on.", len(health.serving))
    yield Family("fingerprint_probe_last_good_reading_age_seconds", "gauge", "Since an area was last read well.", ages)
    yield Family("fingerprint_probe_outcome", "gauge", "How an area was read last.", outcomes)
    hung = [Sample({"area": area}, 1) for area in health.hung]
    yield Family("fingerprint_probe_hung", "gauge", "Areas that do not answer and are not waited for.", hung)
    late = [Sample({"cadence": cadence}, times) for cadence, times in health.overruns.items()]
    yield Family("fingerprint_rounds_overrun_total", "counter", "Rounds skipped because one before still ran.", late)


def _of_host(snapshot: "Snapshot") -> Iterator[Family]:
    throttled: list[Sample] = []
    errors: list[Sample] = []
    for path, item, fact, value in _counters(snapshot):
        labels = {"fact": path, "item": item} if item else {"fact": path}
        if fact.unit in SECONDS:
            throttled.append(Sample(labels, value * SECONDS[fact.unit]))
        else:
            errors.append(Sample(labels, value))
    yield Family("fingerprint_throttled_seconds_total", "counter", "How long clocks were held down.", throttled)
    yield Family("fingerprint_errors_total", "counter", "Errors that the kernel and the devices counted.", errors)


def _counters(snapshot: "Snapshot") -> Iterator[tuple[str, str, Fact, int]]:
    """Of trouble and throttling. The path has * in the place of the item."""
    types = types_of(key.area for key in snapshot.readings)
    for key, reading in snapshot.readings.items():
        try:
            section = reading.section(types[key.area])
        except (KeyError, msgspec.ValidationError):
            continue
        if section is None:
            continue
        for leaf in leaves(section):
            if leaf.fact.kind != "counter" or not isinstance(leaf.value, int):
                continue
            place = place_of(type(section), leaf.names)
            item = place.item if place else ""
            path = "/".join((key.area, *("*" if name == item else name for name in leaf.names)))
            if leaf.fact.trouble or path.startswith((*THROTTLED, *COUNTED)):
                yield path, item, leaf.fact, leaf.value


def _of_api(service: "Service", counts: Counts) -> Iterator[Family]:
    answers = [Sample({"status": str(status)}, times) for status, times in counts.answers.items()]
    refused = [Sample({"why": why}, times) for why, times in counts.refused.items()]
    yield Family("fingerprint_api_answers_total", "counter", "Answers of the API.", answers)
    yield Family("fingerprint_api_refused_total", "counter", "Requests that came no further than the door.", refused)
    yield _one("fingerprint_api_failures_total", "counter", "Requests on which the service failed.", counts.failures)
    yield _one("fingerprint_api_listeners", "gauge", "Who listens to events.", service.events.listeners)
    yield _one(
        "fingerprint_api_listeners_dropped_total", "counter", "Who took no events.", service.events.dropped
    )  # fmt: skip


def _of_process() -> Iterator[Family]:
    """By the names that Prometheus' own clients give these."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize()
    yield _one("process_cpu_seconds_total", "counter", "CPU time of the service.", used.ru_utime + used.ru_stime)
    yield _one("process_resident_memory_bytes", "gauge", "Memory of the service.", resident)
    yield _one("process_open_fds", "gauge", "Open files of the service.", len(os.listdir("/proc/self/fd")))


def _one(name: str, kind: str, says: str, value: float, labels: dict[str, str] | None = None) -> Family:
    return Family(name, kind, says, [Sample(labels or {}, value)])


def _told(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.says}", f"# TYPE {family.name} {family.kind}"]
    lines += [f"{family.name}{_labels(sample.labels)} {_number(sample.value)}" for sample in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
