"""What NVML is asked, and what the facts make of it, are one table and one set of facts."""

from functools import cache
from typing import Any

from fingerprint.testing import Recorder, Replay
from probes.kit.facts import Gap
from probes.kit.nvml import inquiry
from probes.kit.nvml.inquiry import FIELDS, key_of
from probes.kit.probe import HOST, discover
from tests.nvml.products import PRODUCTS
from tests.nvml.profiles import host_of
from tests.nvml.scenario import rows_of

DRIVER_IS_LOADED = ("stat", "/proc/driver/nvidia/version")


@cache
def used() -> frozenset[str]:
    """Calls whose answers some fact is made of, on any product."""
    found: set[str] = set()
    for answers in (*(answers_of(product) for product in PRODUCTS), divided_without_field_values_of_links()):
        recorder = Recorder(Replay({**answers, DRIVER_IS_LOADED: {}}))
        for probe in discover(["gpu", "driver"]).values():
            probe.read(recorder, HOST)
        found |= {key.rpartition(" ")[2] for call, key in recorder.answers if call == "nvml"}
    return frozenset(found)


def answers_of(product: str) -> dict[tuple[str, str], Any]:
    return {(call, key): answer for call, key, answer in rows_of(host_of(product, 2))}


def divided_without_field_values_of_links() -> dict[tuple[str, str], Any]:
    """An A100 under a driver that tells links by their functions alone, with one MIG instance."""
    answers = answers_of("A100 SXM")
    device = answers["nvml_devices", ""][0]
    links = [(), *((link,) for link in range(1, 36))]
    for key in (key_of(FIELDS, (field, *link)) for field in inquiry.LINK_FIELDS for link in links):
        answers["nvml", f"{device} {key}"] = Gap("unsupported")
    answers["nvml", f"{device} nvmlDeviceGetMigMode"] = [1, 1]
    answers["nvml", f"{device}/mig/0 nvmlDeviceGetGpuInstanceId"] = 1
    answers["nvml", f"{device}/mig/0 nvmlDeviceGetComputeInstanceId"] = 0
    return answers


def in_each_pass() -> set[str]:
    calls = [call for phase in (inquiry.SYSTEM, *inquiry.SNAPSHOT_PHASES) for call in phase]
    fields = [field for name, args in calls if name == FIELDS for field in args]
    keys = {key_of(name, args) for name, args in calls if name != FIELDS}
    return keys | {key_of(FIELDS, field if isinstance(field, tuple) else (field,)) for field in fields}


def test_nothing_is_asked_that_no_fact_is_made_of() -> None:
    assert in_each_pass() <= used()


def test_what_is_asked_of_links_pairs_and_instances_is_used_too() -> None:
    functions = {key.partition("(")[0] for key in used()}
    asked = {*inquiry.LINK, *(name for name, _ in (*inquiry.PEER, *inquiry.MIG_DEVICE))}
    assert asked <= functions


def test_no_fact_is_made_of_what_nobody_asks() -> None:
    asked = {key.partition("(")[0] for key in in_each_pass()}
    asked |= {*inquiry.LINK, *(name for name, _ in (*inquiry.PEER, *inquiry.MIG_DEVICE)), "spent"}
    asked |= {"nvmlInit", "nvmlDeviceGetMigDeviceHandleByIndex"}  # how opening went
    assert {key.partition("(")[0] for key in used()} <= asked
