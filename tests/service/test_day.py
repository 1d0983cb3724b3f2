"""A day of the service's own jobs, driven by the pure schedule: nothing grows that should not."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.reader import Reader
from fingerprint.service.daemon import Service
from fingerprint.settings import Settings
from fingerprint.store import Store
from probes.kit.host import Host
from tests.service.driven import due

MINUTES, SETTLED = 1440, 120
START = 1_760_000_017.0


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Whatever serves on this host meanwhile is none of it: each run has descriptors of its own."""
    from fingerprint.areas import probes_of
    from probes.kit.probe import areas

    monkeypatch.setattr("fingerprint.service.watching.all_servers", lambda _: ())
    host = Host()
    probes = probes_of(areas(), Settings())
    found = Service(Settings(), host, lambda _sample: Reader(host, probes), tmp_path / "store.db")
    yield found
    found.close()


def resident_kb() -> int:
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmRSS:")[2].split()[0])


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.long
def test_1440_minutely_rounds_leave_memory_and_descriptors_flat_and_a_small_store(
    service: Service, tmp_path: Path
) -> None:
    last: dict[str, float] = {}
    ran: Counter[str] = Counter()
    sizes: list[tuple[int, int]] = []
    for minute in range(MINUTES):
        now = START + 60 * minute
        for job in due([one for one in service.jobs() if one.name != "second"], last, now):
            ran[job.name] += 1
            job.act()
        sizes.append((resident_kb(), open_files()))
    assert ran["minutely"] == MINUTES
    assert sizes[-1][1] == sizes[SETTLED][1]
    assert sizes[-1][0] < sizes[SETTLED][0] * 1.05
    with Store.open(tmp_path / "store.db", readonly=True) as store:
        assert store.path.stat().st_size < 200e6 / 365 + 1e6
        assert len(store.snapshots()) <= 60
