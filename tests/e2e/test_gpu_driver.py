"""Another driver is one suspect; what it reports more or less, or under other names, is no change of the GPUs."""

import json

import pytest

from tests.e2e.gpu_host import DRIVER, ONE, GpuHost, MakeHost, needs_root
from tests.nvml.fake import FakeNvml
from tests.nvml.profiles import host_of
from tests.nvml.scenario import error

pytestmark = [pytest.mark.root, needs_root]
R535, R595 = "535.161.08", "595.91.07"
LATER = "580.95.05"
VERSION_MISMATCH = error(18)


def upgrade(host: GpuHost, fake_nvml: FakeNvml, product: str, driver: str) -> None:
    """Installed and booted: the module, its library, and what NVML answers."""
    host.drives(fake_nvml(host_of(product, len(host.nvml.devices), driver)))
    host.around.boot(2)
    host.around.module(driver)
    host.around.library(driver)


@pytest.mark.parametrize(
    ("product", "old", "new"),
    [
        ("H100 SXM", DRIVER, R595),
        ("H100 SXM", R535, DRIVER),
        pytest.param("L40S", DRIVER, R595, marks=pytest.mark.long),
        pytest.param("RTX 4090", DRIVER, R595, marks=pytest.mark.long),
        pytest.param("H100 SXM", R595, DRIVER, marks=pytest.mark.long),
    ],
)
def test_another_driver_is_the_one_suspect(
    gpu_host: MakeHost, fake_nvml: FakeNvml, product: str, old: str, new: str
) -> None:
    host = gpu_host(product, 2, old, around=True)
    before = host.snapshot()
    upgrade(host, fake_nvml, product, new)
    now = host.snapshot()
    assert now.fact("driver/module/version") == now.fact("driver/nvml/driver_version") == new
    told = host.diff(before, now)
    assert told.causes == {"driver/module/version": ("", old, new)}
    assert {"driver/libraries/nvml", "driver/nvml/driver_version", "gpu/*/gsp/version"} < told.with_it
    assert told.others == {}
    assert set(told.context) == {"kernel/boot_id"}
    assert told.pairing == {}
    assert told.line.startswith(f"driver/module/version {old} -> {new}. ")


def test_application_clocks_that_a_driver_no_longer_tells_are_no_change_of_them(
    gpu_host: MakeHost, fake_nvml: FakeNvml
) -> None:
    host = gpu_host("H100 SXM", 2, around=True)
    before = host.snapshot()
    assert before.fact(f"gpu/{ONE}/clocks/applications/graphics") == 1980
    upgrade(host, fake_nvml, "H100 SXM", R595)
    now = host.snapshot()
    assert now.fact(f"gpu/{ONE}/clocks/applications/graphics") == "retired"
    told = host.diff(before, now)
    [clocks] = [c for c in told.json["changes"] if c["fact"] == "gpu/*/clocks/applications/graphics"]
    assert (clocks["verdict"], clocks["follows"]) == ("went dark", "driver/module/version")
    assert clocks["says"] == "no longer reported"


def test_functions_of_other_names_tell_the_same(gpu_host: MakeHost, fake_nvml: FakeNvml) -> None:
    """R535 renamed the event reasons and R570 the temperature; the older driver has the older names alone."""
    host = gpu_host("H100 SXM", 1, "530.30.02", around=True)
    old = host.snapshot()
    upgrade(host, fake_nvml, "H100 SXM", R595)
    new = host.snapshot()
    for fact in ("clocks_event_reasons/active", "clocks_event_reasons/supported", "temperature/gpu", "fabric/state"):
        assert old.fact(f"gpu/{ONE}/{fact}") == new.fact(f"gpu/{ONE}/{fact}") is not None


def test_a_library_that_was_upgraded_under_the_running_module(gpu_host: MakeHost) -> None:
    host = gpu_host("H100 SXM", 8, around=True)
    before = host.snapshot()
    assert before.fact("driver/libraries/match_module") is True
    host.around.library(LATER)
    host.nvml.put("", "nvmlInit", VERSION_MISMATCH)
    now = host.snapshot()
    assert now.fact("driver/libraries/match_module") is False
    assert now.fact(f"gpu/{ONE}/power_limit") == "failed"
    assert len(now.gpus) == 8, "the kernel still has them"
    told = host.diff(before, now)
    assert told.causes == {"driver/libraries/match_module": ("", True, False)}
    assert {"driver/libraries/nvml", "gpu/*", "driver/nvml/driver_version"} < told.with_it
    assert told.others == {}
    assert "version mismatch" in told.line
    assert told.json["next"][0].startswith("Set the first suspect back and run again: reboot")
    assert host.diff(now, before).json["suspects"][0]["restore"] is None
    findings = json.loads(host.cli("doctor", "--format", "json", before=host.before, status=None).stdout)
    assert "reboot" in " ".join(finding["remedy"] for finding in findings if finding["level"] == "problem")


def test_a_library_that_still_answers_though_the_module_is_of_another_version(gpu_host: MakeHost) -> None:
    """A program that was started before the upgrade has the old one open: NVML works, and a reboot is pending."""
    host = gpu_host("H100 SXM", 8, around=True)
    before = host.snapshot()
    host.around.library(LATER)
    told = host.diff(before, host.snapshot())
    assert told.causes == {"driver/libraries/match_module": ("", True, False)}
    assert told.with_it == {"driver/libraries/nvml"}
    assert told.others == {}
