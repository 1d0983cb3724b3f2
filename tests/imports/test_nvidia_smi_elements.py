"""Every element that a driver is known to print is read, or passed over for a reason that stands in unread.py."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from fingerprint.imports.nvidia_smi_table import DRIVER, GPU, INSTANCE, PROCESS
from tests.imports.capture import load, names
from tests.imports.logs import LOGS, flat
from tests.imports.unread import UNREAD

KEYS = {
    "gpu@id", "gpu/mig_devices/mig_device/gpu_instance_id", "gpu/mig_devices/mig_device/compute_instance_id",
    "gpu/processes", "gpu/processes/process_info/pid",
}  # fmt: skip
TABLES = (
    (DRIVER, ""),
    (GPU, "gpu/"),
    (INSTANCE, "gpu/mig_devices/mig_device/"),
    (PROCESS, "gpu/processes/process_info/"),
)
READ = KEYS | {base + element for table, base in TABLES for row in table.values() for element in row.elements}
GROUPS = {element.rpartition("/")[0] for element in READ}
"""May stand without their elements: `<remapped_rows>N/A</remapped_rows>`."""
PRINTED_BY_610 = {
    "kmd_version", "cuda_umd_version",
    *(f"gpu/gpu_power_readings/gpu_ceiling_power_limit/{which}_power_limit"
      for which in ("requested", "current", "default")),
}  # fmt: skip
"""No such log is at hand: by the text of `nvidia-smi -q`."""


def recorded() -> Iterator[str]:
    for name in names():
        yield from (re.sub(r"\[\d+\]", "", place) for place in load(name))


def passed_over(elements: set[str]) -> set[str]:
    return elements - READ - GROUPS


def without_reason(elements: set[str]) -> set[str]:
    return {element for element in passed_over(elements) if not any(_fits(element, glob) for glob in UNREAD)}


def _fits(element: str, glob: str) -> bool:
    return element.count("/") == glob.count("/") and fnmatchcase(element, glob)


def test_each_recorded_element_is_read_or_has_a_reason() -> None:
    assert without_reason(set(recorded())) == set()


def test_no_element_is_read_that_no_driver_printed() -> None:
    assert READ - GROUPS - set(recorded()) == PRINTED_BY_610


def test_no_reason_is_given_for_what_is_read() -> None:
    assert {element for element in READ for glob in UNREAD if element == glob} == set()


@pytest.mark.skipif(not LOGS, reason="FINGERPRINT_CORPUS holds no logs of nvidia-smi")
def test_each_element_of_the_corpus_is_read_or_has_a_reason_and_each_reason_is_needed() -> None:
    printed = {element for log in LOGS for element in flat(log)}
    assert without_reason(printed) == set()
    over = passed_over(printed)
    assert {glob for glob in UNREAD if not any(_fits(element, glob) for element in over)} == set()
