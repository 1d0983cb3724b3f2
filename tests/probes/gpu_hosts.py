"""Whole hosts with GPUs, without any: what NVML would answer by the scenarios of tests/nvml, replayed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fingerprint.sections import decoder_of
from fingerprint.testing import Replay
from probes.gpu import Gpu, Gpus, gpu, sample
from probes.kit.answers import Stat
from probes.kit.facts import Gap, Map
from probes.kit.nvml.asking import BOUND
from probes.kit.probe import HOST
from tests.nvml.scenario import Scenario, rows_of

Questions = Mapping[tuple[str, str], Any]

FILE = Stat(1, 1, 0, 0, 0, 0o100644)
BARE: Questions = {("link", "/proc/self/ns/pid"): "pid:[4026531836]"}
"""Not in a container."""
CONTAINED: Questions = {("link", "/proc/self/ns/pid"): "pid:[4026532000]", ("stat", "/.dockerenv"): FILE}


def answers_of(scenario: Scenario) -> dict[tuple[str, str], Any]:
    """What is not staged is unsupported, as it is to the fake library."""
    rows = rows_of(scenario)
    return {(call, key): answer for call, key, answer in rows}


def replayed(scenario: Scenario, *more: Questions) -> Replay:
    told = answers_of(scenario)
    for questions in more:
        told.update(questions)
    return Replay(told)


def driven(*keys: str) -> Questions:
    """The kernel module drives these, by minor numbers in their order."""
    information = {
        ("text", f"/proc/driver/nvidia/gpus/{key}/information"): f"Model: \t\t NVIDIA H100\nDevice Minor: \t {at}\n"
        for at, key in enumerate(keys)
    }
    return {("names", BOUND): (*keys, "bind", "module", "new_id"), **information}


def read(host: Replay) -> Gpus:
    """As one that came through a strict decode."""
    return decoder_of(Gpus)(msgspec.json.encode(gpu.read(host, HOST)))


def sampled(host: Replay) -> Gpus:
    return decoder_of(Gpus)(msgspec.json.encode(sample(host, HOST)))


def items(section: Gpus) -> Mapping[str, Gpu]:
    assert isinstance(section.gpus, Map), section.gpus
    return section.gpus.items


def only(section: Gpus) -> Gpu:
    (one,) = items(section).values()
    return one


def code(value: object) -> str:
    assert isinstance(value, Gap), value
    return value.code
