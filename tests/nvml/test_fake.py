"""The fake NVML answers as nvml.h says, whoever calls it, and changes when its scenario does."""

import ctypes
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nvml import build
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.profiles import host_of
from tests.nvml.scenario import Scenario, error, pci_info, sleep

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"
UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, INSUFFICIENT_SIZE = 1, 2, 3, 4, 6, 7
VERSION_MISMATCH = 25

Called = Callable[..., int]


class Library:
    """The functions of a fake, called as C has them."""

    def __init__(self, fake: Fake) -> None:
        self._library = ctypes.CDLL(str(fake.library))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def handle(self, how: str = "Index_v2", of: Any = 0) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        assert self(f"nvmlDeviceGetHandleBy{how}", of, ctypes.byref(handle)) == 0
        return handle

    def __call__(self, name: str, *args: Any) -> int:
        return int(getattr(self, name)(*args))


@pytest.fixture
def fake(fake_nvml: FakeNvml) -> Fake:
    return fake_nvml(host_of("H100 SXM", 2))


@pytest.fixture
def nvml(fake: Fake) -> Library:
    library = Library(fake)
    assert library("nvmlInit_v2") == 0
    return library


def test_before_init_nothing_is_answered(fake: Fake) -> None:
    library, number = Library(fake), ctypes.c_uint()

    assert library("nvmlDeviceGetCount_v2", ctypes.byref(number)) == UNINITIALIZED
    assert library("nvmlShutdown") == UNINITIALIZED


def test_it_is_open_as_often_as_it_was_opened(nvml: Library) -> None:
    number = ctypes.c_uint()
    nvml("nvmlInit_v2")
    nvml("nvmlShutdown")
    assert nvml("nvmlDeviceGetCount_v2", ctypes.byref(number)) == 0
    nvml("nvmlShutdown")
    assert nvml("nvmlDeviceGetCount_v2", ctypes.byref(number)) == UNINITIALIZED


def test_a_handle_is_had_by_index_address_and_uuid(nvml: Library, fake: Fake) -> None:
    uuid = fake.scenario["devices"][TWO]["nvmlDeviceGetUUID"].encode()
    ways = [
        ("Index_v2", 1),
        ("UUID", uuid),
        *(("PciBusId_v2", of) for of in (b"0000:2A:00.0", b"00000000:2a:00.0", b"2a:00.0")),
    ]

    assert len({nvml.handle(*way).value for way in ways}) == 1
    handle = ctypes.c_void_p()
    assert nvml("nvmlDeviceGetHandleByIndex_v2", 2, ctypes.byref(handle)) == INVALID_ARGUMENT
    assert nvml("nvmlDeviceGetHandleByPciBusId_v2", b"0000:ff:00.0", ctypes.byref(handle)) == NOT_FOUND


def test_a_text_needs_room_for_its_end(nvml: Library) -> None:
    name = b"NVIDIA H100 80GB HBM3"
    text = ctypes.create_string_buffer(64)

    assert nvml("nvmlDeviceGetName", nvml.handle(), text, len(name)) == INSUFFICIENT_SIZE
    assert nvml("nvmlDeviceGetName", nvml.handle(), text, len(name) + 1) == 0
    assert text.value == name


def test_an_enumerator_that_nvml_does_not_know_is_an_invalid_argument(nvml: Library) -> None:
    number = ctypes.c_uint()
    for name, choice in (("ClockInfo", 4), ("TemperatureThreshold", 99), ("NvLinkState", 99), ("MaxClockInfo", -1)):
        assert nvml(f"nvmlDeviceGet{name}", nvml.handle(), choice, ctypes.byref(number)) == INVALID_ARGUMENT


def test_no_processes_need_no_room_and_some_are_counted(nvml: Library, fake: Fake) -> None:
    count = ctypes.c_uint(0)
    call = "nvmlDeviceGetComputeRunningProcesses_v3"
    assert nvml(call, nvml.handle(), ctypes.byref(count), None) == 0

    one = {"pid": 1, "usedGpuMemory": None, "gpuInstanceId": 0, "computeInstanceId": 0}
    fake.put(ONE, call, [one, {**one, "pid": 2}, {**one, "pid": 3}])
    processes = (pynvml.c_nvmlProcessInfo_v3_t * 3)()
    for room, code in ((0, INSUFFICIENT_SIZE), (2, INSUFFICIENT_SIZE), (3, 0)):
        count.value = room
        assert nvml(call, nvml.handle(), ctypes.byref(count), processes if room else None) == code
        assert count.value == 3
    assert [process.pid for process in processes] == [1, 2, 3]
    assert processes[0].usedGpuMemory == (1 << 64) - 1


def test_a_struct_says_of_which_version_it_is(nvml: Library) -> None:
    temperature = pynvml.c_nvmlTemperature_v1_t()
    temperature.version = 0
    assert nvml("nvmlDeviceGetTemperatureV", nvml.handle(), ctypes.byref(temperature)) == VERSION_MISMATCH
    temperature.version = pynvml.nvmlTemperature_v1
    assert nvml("nvmlDeviceGetTemperatureV", nvml.handle(), ctypes.byref(temperature)) == 0
    assert temperature.temperature == 41


def test_each_field_has_its_own_return_code_and_type(nvml: Library, fake: Fake) -> None:
    fake.put(ONE, "nvmlDeviceGetFieldValues(94)", -3)
    fake.put(ONE, "nvmlDeviceGetFieldValues(95)", error(NO_PERMISSION))
    values = (pynvml.c_nvmlFieldValue_t * 4)()
    for value, field in zip(values, (94, 95, 83, 9999), strict=True):
        value.fieldId = field

    assert nvml("nvmlDeviceGetFieldValues", nvml.handle(), 4, values) == 0
    assert [value.nvmlReturn for value in values] == [0, NO_PERMISSION, NOT_SUPPORTED, INVALID_ARGUMENT]
    assert (values[0].valueType, values[0].value.siVal) == (pynvml.NVML_VALUE_TYPE_SIGNED_INT, -3)


def test_a_change_is_seen_by_whoever_runs(nvml: Library, fake: Fake) -> None:
    limit = ctypes.c_uint()
    seen = []
    for staged in (700_000, 450_000):
        fake.put(ONE, "nvmlDeviceGetPowerManagementLimit", staged)
        nvml("nvmlDeviceGetPowerManagementLimit", nvml.handle(), ctypes.byref(limit))
        seen.append(limit.value)

    assert seen == [700_000, 450_000]


def test_it_sleeps_and_answers(nvml: Library, fake: Fake) -> None:
    limit = ctypes.c_uint()
    fake.put(ONE, "nvmlDeviceGetPowerManagementLimit", sleep(0.05, 1000))
    began = time.monotonic()

    assert nvml("nvmlDeviceGetPowerManagementLimit", nvml.handle(), ctypes.byref(limit)) == 0
    assert limit.value == 1000
    assert time.monotonic() - began >= 0.05


def test_a_setter_is_refused_and_noted(nvml: Library, fake: Fake) -> None:
    assert nvml("nvmlDeviceSetPowerManagementLimit", nvml.handle(), 300_000) == NO_PERMISSION
    assert fake.called("nvmlDeviceSetPowerManagementLimit") == 1
    assert fake.scenario["devices"][ONE]["nvmlDeviceGetPowerManagementLimit"] == 700_000


def test_a_library_without_a_function_lacks_that_one_alone(fake_nvml: FakeNvml) -> None:
    library = Library(fake_nvml(host_of("T4"), without=["nvmlDeviceGetMemoryInfo_v2"]))

    assert not hasattr(library, "nvmlDeviceGetMemoryInfo_v2")
    assert hasattr(library, "nvmlDeviceGetMemoryInfo")
    with pytest.raises(LookupError, match="no nvmlDeviceGetMoney"):
        fake_nvml(host_of("T4"), without=["nvmlDeviceGetMoney"])


@pytest.fixture(scope="module")
def lasting(nvml_library: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Fake, Library]:
    scenario: Scenario = {"system": {}, "devices": {ONE: {}}}
    fake = Fake(tmp_path_factory.mktemp("lasting") / "nvml", nvml_library, scenario)
    library = Library(fake)
    library("nvmlInit_v2")
    return fake, library


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=95).filter(
        lambda text: "\\x" not in text
    )


@settings(max_examples=60, deadline=None)
@given(name=_texts(), energy=st.integers(0, (1 << 64) - 1), words=st.lists(st.integers(0, (1 << 64) - 1), max_size=16))
def test_what_is_staged_is_what_is_answered(
    lasting: tuple[Fake, Library], name: str, energy: int, words: list[int]
) -> None:
    fake, library = lasting
    mask = "nvmlDeviceGetCpuAffinityWithinScope(16,0)"
    answers = {"nvmlDeviceGetName": name, "nvmlDeviceGetTotalEnergyConsumption": energy, mask: words}
    fake.scenario["devices"][ONE] |= answers
    fake.save()
    text, number, set_ = ctypes.create_string_buffer(96), ctypes.c_ulonglong(), (ctypes.c_ulong * 16)()

    assert library("nvmlDeviceGetName", library.handle(), text, 96) == 0
    assert library("nvmlDeviceGetTotalEnergyConsumption", library.handle(), ctypes.byref(number)) == 0
    assert library("nvmlDeviceGetCpuAffinityWithinScope", library.handle(), 16, set_, 0) == 0
    assert text.value.decode() == name
    assert number.value == energy
    assert list(set_) == [*words, *[0] * (16 - len(words))]


def test_the_struct_of_an_address() -> None:
    assert pci_info("0008:2a:1f.0", 0x233010DE) == {
        "busIdLegacy": "0008:2A:1F.0", "domain": 8, "bus": 0x2A, "device": 0x1F,
        "pciDeviceId": 0x233010DE, "pciSubSystemId": 0, "busId": "00000008:2A:1F.0",
    }  # fmt: skip


def test_a_definition_that_is_not_the_headers_does_not_compile(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        '#include "public.h"\nnvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t d, int *i) { (void)d, (void)i; return 0; }\n'
    )
    argv = [*build.compiler(), *build.FLAGS, "-I", str(build.SOURCES), "-isystem", str(build.header().parent)]
    done = subprocess.run([*argv, str(wrong), "-o", str(tmp_path / "wrong.so")], capture_output=True, text=True)

    assert done.returncode != 0
    assert "conflicting types" in done.stderr
