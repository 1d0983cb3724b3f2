"""NVML is used as the settings say, and what it does to its process holds up nothing else."""

import json
from typing import Any

import pytest

from fingerprint.areas import host_areas
from fingerprint.cli.invocation import Invocation
from probes.kit.probe import discover
from tests.e2e.conftest import Cli
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.profiles import host_of
from tests.nvml.scenario import HANG

INIT = "nvmlInit"


@pytest.fixture
def fake(fake_nvml: FakeNvml, fingerprint: Cli) -> Fake:
    made = fake_nvml(host_of("H100 SXM", 2, "570.133.20"))
    fingerprint.env |= {"FINGERPRINT_NVML": str(made.library), "FINGERPRINT_NVML_LOCK": str(made.lock)}
    return made


def sections(fingerprint: Cli, **env: str) -> dict[str, Any]:
    done = fingerprint("snapshot", "--no-store", "--format", "json", env=env)
    found: dict[str, Any] = json.loads(done.stdout)["sections"]
    return found


def test_the_library_that_a_variable_names_is_asked(fingerprint: Cli, fake: Fake) -> None:
    told = sections(fingerprint)["driver"]["facts"]["nvml"]
    assert (told["driver_version"], told["driver_branch"]) == ("570.133.20", "r570_00")


def test_off_means_that_no_library_is_opened(fingerprint: Cli, fake: Fake) -> None:
    told = sections(fingerprint, FINGERPRINT_NVML="off")["driver"]["facts"]["nvml"]
    assert "driver_version" not in told
    assert fake.calls == []


def test_an_nvml_that_hangs_costs_its_own_facts_and_is_named(fingerprint: Cli, fake: Fake) -> None:
    fake.put("", INIT, HANG)
    found = sections(fingerprint, FINGERPRINT_NVML_BUDGET_S="0.5", FINGERPRINT_NVML_GPU_BUDGET_S="0.4")
    assert {section["outcome"] for section in found.values()} == {"ok"}
    gap = found["driver"]["facts"]["nvml"]["driver_version"]
    assert gap["code"] == "timed_out"
    assert "nvmlInit" in gap["detail"]
    done = fingerprint("doctor", "--format", "json", env={"FINGERPRINT_NVML_BUDGET_S": "0.5"})
    told = [finding for finding in json.loads(done.stdout) if finding["about"] == "nvml"]
    assert [finding["level"] for finding in told] == ["problem"]
    assert "nvmlInit" in told[0]["why"]


def test_areas_that_ask_nvml_get_its_seconds_and_are_read_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINGERPRINT_NVML_BUDGET_S", "7")
    monkeypatch.setenv("FINGERPRINT_BUDGET_S", "9")
    declared, given = discover(), Invocation().probes()
    asking = [area for area, probe in declared.items() if probe.asks_nvml]
    assert "driver" in asking
    added = {area: given[area].budget - declared[area].budget for area in declared}
    assert added == {area: 7 if area in asking else 0 for area in declared}
    assert sorted(host_areas(given)[-len(asking) :]) == sorted(asking)


def test_by_default_a_snapshot_outlives_an_nvml_that_hangs() -> None:
    settings = Invocation().settings
    slowest = max(probe.budget for probe in Invocation().probes().values() if probe.asks_nvml)
    assert settings.nvml_options.budget_s < slowest < settings.budget_s
