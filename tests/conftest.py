"""What tests of several parts stand on."""

import os
import pwd
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.nvml.build import library
from tests.nvml.fake import FakeNvml, makers
from tests.waiting import until

# The suite may be started with signals ignored (nohup, a shell's `&`), which every process of a test would inherit.
for number, default in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGTERM, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)


# No test depends on how fast the machine is.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("everyday", settings.get_profile("untimed"), max_examples=40)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Whoever leaves out what is marked `long` is given fewer examples as well."""
    if config.getoption("markexpr") == "not long":
        settings.load_profile("everyday")


@pytest.fixture
def unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user database does not know who runs the tests, so without HOME there is no home."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake NVML, compiled; kept beside the folders of this session, and taken again by the next."""
    return library(tmp_path_factory.getbasetemp().parent)


@pytest.fixture
def fake_nvml(nvml_library: Path, tmp_path: Path) -> Iterator[FakeNvml]:
    """Makes drivers that answer by a scenario; whatever hangs in one ends with the test."""
    yield from makers(tmp_path, nvml_library)


V1_FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def freezing() -> Iterator[Callable[[Iterable[int]], None]]:
    """Puts processes into a frozen v1 freezer cgroup: there SIGKILL stays pending, as in state D."""
    if os.geteuid() != 0 or not V1_FREEZER.is_dir():
        pytest.skip("a frozen v1 freezer cgroup needs root and the v1 hierarchy")
    group = V1_FREEZER / f"fingerprint-test-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()

    def freeze(pids: Iterable[int]) -> None:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")

    yield freeze
    (group / "freezer.state").write_text("THAWED")
    until(lambda: not (group / "tasks").read_text().strip())
    group.rmdir()


@pytest.fixture
def freezer(freezing: Callable[[Iterable[int]], None]) -> Callable[[], None]:
    """The same of whoever calls it."""

    def freeze() -> None:
        freezing([os.getpid()])
        time.sleep(3600)

    return freeze
