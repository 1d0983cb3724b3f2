"""A log of nvidia-smi becomes facts: each value in the fact's unit, each missing one the gap that NVML would give."""

from typing import Any

import msgspec
import pynvml
import pytest

from fingerprint.imports.nvidia_smi import sections
from fingerprint.imports.printed import ERRORS, told
from fingerprint.imports.xml import CAP
from fingerprint.sections import decoder_of
from probes.driver import Driver
from probes.gpu import Gpu, Gpus
from probes.kit.facts import NOT_READ, Gap, Map
from tests.imports.capture import load, xml_of

KEY = "0000:17:00.0"
UNSUPPORTED = Gap("unsupported")


def log(inside: str = "", head: str = "<driver_version>580.65.06</driver_version>") -> str:
    gpu = f'<gpu id="00000000:17:00.0">{inside}</gpu>'
    declared = '<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">'
    return f"{declared}\n<nvidia_smi_log>{head}{gpu}</nvidia_smi_log>"


def gpu_of(xml: str, key: str = KEY) -> Gpu:
    """As one that came through a strict decode."""
    gpus = decoder_of(Gpus)(msgspec.json.encode(sections(xml)["gpu"])).gpus
    assert isinstance(gpus, Map)
    return gpus.items[key]


def driver_of(xml: str) -> Driver:
    driver = sections(xml)["driver"]
    assert isinstance(driver, Driver)
    return driver


def test_values_are_in_the_units_of_their_facts() -> None:
    gpu = gpu_of(xml_of(load("gb300-580.173.02")), "0008:06:00.0")
    assert (gpu.power_limit, gpu.power.draw_instant, gpu.power.module.draw) == (1_400_000, 180_290, 487_680)
    assert (gpu.memory.total, gpu.memory.bar1_total) == (284208 << 20, 524288 << 20)
    assert (gpu.clocks.max.sm, gpu.temperature.gpu, gpu.temperature.margins.shutdown) == (2070, 38, -5)
    assert (gpu.pcie.link_width_max, gpu.health.remapped_rows.histogram.max) == (16, 5952)
    assert gpu.pcie.atomics_inbound == ("fetchadd32", "fetchadd64", "swap32", "swap64", "cas32", "cas64")
    assert (gpu.pci_device_id, gpu.platform.peer_type, gpu.architecture) == ("0x31c210de", 1, "blackwell")
    assert (gpu.fabric.state, gpu.fabric.clique_id, gpu.fabric.health.route_unhealthy) == ("completed", 32766, "no")


@pytest.mark.parametrize(
    ("printed", "gap"),
    [
        ("N/A", UNSUPPORTED),
        ("[N/A]", UNSUPPORTED),
        ("", UNSUPPORTED),
        ("Requested functionality has been deprecated", Gap("retired")),
        ("[Deprecated; will be removed in CUDA 14.0]", Gap("retired")),
        ("Insufficient Permissions", Gap("denied")),
        ("Unknown Error", Gap("failed")),
        ("[Unknown Error]", Gap("failed")),
        ("GPU is lost", Gap("lost")),
        ("GPU requires reset", Gap("lost")),
        ("fast", Gap("failed")),
    ],
)
def test_a_text_in_the_place_of_a_value_is_the_gap_that_nvml_gives(printed: str, gap: Gap) -> None:
    assert gpu_of(log(f"<clocks><sm_clock>{printed}</sm_clock></clocks>")).clocks.sm == gap


def test_a_gap_names_the_element_and_what_stood_there() -> None:
    seen = gpu_of(log("<clocks><sm_clock>Unknown Error</sm_clock><mem_clock>fast</mem_clock></clocks>")).clocks
    assert isinstance(seen.sm, Gap)
    assert seen.sm.detail == "clocks/sm_clock: Unknown Error"
    assert isinstance(seen.mem, Gap)
    assert "'fast' is no number of MHz" in seen.mem.detail


def test_the_words_of_every_error_are_nvmls_own() -> None:
    words = {text.casefold(): code for code, text in pynvml.NVMLError._errcode_to_string.items()}
    newer = {"requested functionality has been deprecated": 26, "gpu requires reset": 16, "err!": 999}
    assert {**words, **newer}.items() >= ERRORS.items()


def test_what_the_log_does_not_tell_is_not_read() -> None:
    gpu = gpu_of(log())
    assert gpu == Gpu()
    assert gpu.nvlink.links is NOT_READ


def test_a_group_without_a_value_stands_for_all_that_would_be_in_it() -> None:
    rows = gpu_of(log("<remapped_rows>N/A</remapped_rows><power_smoothing>Insufficient Permissions</power_smoothing>"))
    assert rows.health.remapped_rows.pending == rows.health.remapped_rows.histogram.max == UNSUPPORTED
    assert rows.power.smoothing.enabled == rows.power.smoothing.profile == Gap("denied")


@pytest.mark.parametrize("word", ["throttle", "event"])
def test_event_reasons_have_one_name_whatever_the_driver_calls_them(word: str) -> None:
    each = "".join(
        f"<clocks_{word}_reason_{name}>{now}</clocks_{word}_reason_{name}>"
        for name, now in (("gpu_idle", "Not Active"), ("sw_power_cap", "Active"), ("hw_slowdown", "Active"))
    )
    held = gpu_of(log(f"<clocks_{word}_reasons>{each}</clocks_{word}_reasons>")).clocks_event_reasons
    assert (held.active, held.gpu_idle, held.sw_power_cap) == ("sw_power_cap hw_slowdown", 0, 1)
    assert held.board_limit is NOT_READ


BEFORE_535 = {"power_limit": "250.00 W", "enforced_power_limit": "225.00 W"}
SINCE_535 = {"requested_power_limit": "250.00 W", "current_power_limit": "225.00 W"}


@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        (("power_readings",), BEFORE_535),
        (("gpu_power_readings",), SINCE_535),
        (("gpu_power_readings", "gpu_ceiling_power_limit"), SINCE_535),
    ],
    ids=["R520", "R535", "R610"],
)
def test_limits_have_one_name_whatever_the_driver_calls_them(groups: tuple[str, ...], limits: dict[str, str]) -> None:
    each = "".join(f"<{name}>{watts}</{name}>" for name, watts in limits.items())
    for group in reversed(groups):
        each = f"<{group}>{each}</{group}>"
    gpu = gpu_of(log(each))
    assert (gpu.power_limit, gpu.enforced_power_limit) == (250_000, 225_000)


def test_the_newest_name_of_the_drivers_version_counts_and_marks_are_passed_over() -> None:
    marked = "610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]"
    head = f"<driver_version>{marked}</driver_version><cuda_umd_version>13.3</cuda_umd_version>"
    assert driver_of(log(head=head)).nvml.driver_version == "610.57.04"
    assert driver_of(log(head=f"{head}<kmd_version>610.57.05</kmd_version>")).nvml.driver_version == "610.57.05"
    assert driver_of(log(head=head)).nvml.cuda_version == "13.3"


@pytest.mark.parametrize(("idle", "percent", "busy"), [("Not Active", 98, 1), ("Active", 98, 0), ("Not Active", 5, 0)])
def test_a_gpu_that_worked_says_so(idle: str, percent: int, busy: int) -> None:
    reasons = f"<clocks_event_reason_gpu_idle>{idle}</clocks_event_reason_gpu_idle>"
    load = f"<utilization><gpu_util>{percent} %</gpu_util></utilization>"
    assert gpu_of(log(f"<clocks_event_reasons>{reasons}</clocks_event_reasons>{load}")).busy == busy


def test_instances_are_keyed_by_what_they_are_part_of() -> None:
    mig = gpu_of(xml_of(load("a100-mig-535.54.03")), "0000:01:00.0").mig
    assert isinstance(mig.instances, Map)
    assert list(mig.instances.items) == ["3/0", "4/0", "5/0", "6/0"]
    one = mig.instances.items["3/0"]
    assert (one.multiprocessors, one.copy_engines, one.memory_used) == (14, 1, 12 << 20)
    assert one.profile is NOT_READ


def test_a_gpu_that_is_not_divided_has_no_instances_and_one_that_cannot_be_has_a_gap() -> None:
    def instances(mode: str) -> Any:
        return gpu_of(log(f"<mig_mode><current_mig>{mode}</current_mig></mig_mode><mig_devices>None</mig_devices>")).mig

    assert instances("Disabled").instances == Map({})
    assert instances("N/A").instances == UNSUPPORTED


def test_processes_are_keyed_by_pid() -> None:
    row = "<process_info><pid>4711</pid><type>C+G</type><used_memory>300 MiB</used_memory></process_info>"
    processes = gpu_of(log(f"<processes>{row}</processes>")).processes
    assert isinstance(processes, Map)
    assert (processes.items["4711"].type, processes.items["4711"].used_memory) == ("compute+graphics", 300 << 20)
    assert gpu_of(log("<processes></processes>")).processes == Map({})


def test_what_nvml_says_of_a_fabric_counts_once_it_is_joined() -> None:
    gpu = gpu_of(log("<fabric><state>In Progress</state><status>Success</status><cliqueId>0</cliqueId></fabric>"))
    assert (gpu.fabric.state, gpu.fabric.status, gpu.fabric.clique_id) == (
        "in_progress", Gap("not_observable"), Gap("not_observable"),
    )  # fmt: skip


def test_what_a_preloaded_library_printed_around_the_log_is_passed_over() -> None:
    noisy = f"[HAMI-core Msg]: Initializing...\n{log('<uuid>GPU-1</uuid>')}\n[HAMI-core Msg]: Exit"
    assert gpu_of(noisy).uuid == "GPU-1"


# What is refused, in one sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty file"),
        ("==============NVSMI LOG==============\n\nTimestamp : x", "the text of `nvidia-smi -q`"),
        ("| NVIDIA-SMI 535.54.03  Driver Version: 535.54.03 |", "the table of `nvidia-smi`"),
        ("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)", "the list of `nvidia-smi -L`"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the driver", "does not reach the driver"),
        ("<system version='1'><cpu/></system>", "a file that begins '<system'"),
    ],
)
def test_what_is_no_log_is_refused_by_what_it_is(text: str, words: str) -> None:
    with pytest.raises(ValueError, match="no log of `nvidia-smi -q -x`, but ") as refused:
        sections(text)
    assert words in str(refused.value)


def test_a_log_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off before its end"):
        sections(log()[:-5])


def test_a_log_with_an_entity_is_refused_before_it_is_expanded() -> None:
    bomb = log("<uuid>&a;</uuid>").replace(
        'SYSTEM "nvsmi_device_v13.dtd"', '[<!ENTITY b "bbbb"><!ENTITY a "&b;&b;&b;&b;">]'
    )
    with pytest.raises(ValueError, match=r"declares an entity \(b\)"):
        sections(bomb)


def test_a_file_of_an_entity_is_never_opened() -> None:
    reader = log("<uuid>&a;</uuid>").replace(
        'SYSTEM "nvsmi_device_v13.dtd"', '[<!ENTITY a SYSTEM "file:///etc/hostname">]'
    )
    with pytest.raises(ValueError, match=r"declares an entity \(a\)"):
        sections(reader)


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="33 MiB of XML, where 32 are the most"):
        sections(log(" " * (CAP + (1 << 20))))


def test_a_gpu_without_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="whose id is no PCI address: 'first'"):
        sections(log().replace("00000000:17:00.0", "first"))


def test_broken_xml_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"no well-formed XML: .*line 2"):
        sections(log("<uuid>"))


def test_a_value_that_is_none_is_told_apart_from_one_that_is_not_there() -> None:
    assert told("None", "addressing_mode") == "None"
