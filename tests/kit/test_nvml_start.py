"""The process that calls NVML starts with little, and writes JSON without the module of that name."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from probes.kit.nvml.getters import json_of
from probes.kit.nvml.start import START
from tests.nvml.fake import FakeNvml
from tests.nvml.profiles import host_of

COSTLY = {"asyncio", "enum", "json", "msgspec", "re", "site", "subprocess", "tempfile", "threading", "typing"}


def test_nothing_is_imported_that_costs_much_and_gives_little(fake_nvml: FakeNvml, tmp_path: Path) -> None:
    fake = fake_nvml(host_of("H100 SXM", 2))
    found = importlib.util.find_spec("pynvml")
    assert found
    assert found.origin
    folders = str(Path(found.origin).parent), str(Path(__file__).parents[2])
    with (tmp_path / "lock").open("wb") as lock, (tmp_path / "answers").open("wb") as answers:
        fds = lock.fileno(), answers.fileno()
        argv = [
            "-I",
            "-S",
            "-X",
            "importtime",
            "-c",
            START,
            *folders,
            str(fake.library),
            *map(str, fds),
            "5",
            "1",
            "snapshot",
        ]
        done = subprocess.run([sys.executable, *argv], pass_fds=fds, capture_output=True, text=True, check=True)
    imported = set(re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert {"pynvml", "ctypes"} <= imported
    assert imported & COSTLY == set()
    assert '"nvmlDeviceGetName","NVIDIA H100 80GB HBM3"]' in (tmp_path / "answers").read_text()


def test_a_stand_in_has_all_that_the_real_module_has() -> None:
    script = """
from _thread import allocate_lock
from probes.kit.nvml.start import _find_library, _stand_in
_stand_in("threading", Lock=allocate_lock)
_stand_in("ctypes.util", find_library=_find_library)
from ctypes.util import find_library
from threading import Lock, Thread
assert Lock is allocate_lock and Thread.__name__ == "Thread"
find_library("c")
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_what_is_written_is_json(value: object) -> None:
    assert json.loads(json_of(value)) == value
    assert "\n" not in json_of(value)
