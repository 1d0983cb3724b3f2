"""Every folder under tests/hosts/ is a host: adding one is adding data. See the README there."""

import json
from pathlib import Path

import pytest

from fingerprint.testing import RECORDING, SNAPSHOT, Replay, load, sections_of

FOLDERS = sorted(path.parent for path in (Path(__file__).parent / "hosts").glob(f"*/{RECORDING}"))
HOW = "if the difference is meant, write the snapshots anew: .venv/bin/python scripts/record_hosts.py"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_replayed_host_gives_its_whole_snapshot(folder: Path) -> None:
    expected = json.loads((folder / SNAPSHOT).read_text())
    assert sections_of(Replay(load(str(folder)))) == expected, HOW


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_probe_breaks_on_a_recorded_host(folder: Path) -> None:
    broken = {area: section for area, section in sections_of(Replay(load(str(folder)))).items() if "failed" in section}
    assert not broken


def test_the_readme_tells_where_each_host_comes_from() -> None:
    readme = (Path(__file__).parent / "hosts" / "README.md").read_text()
    assert len(FOLDERS) >= 3
    assert [folder.name for folder in FOLDERS if f"`{folder.name}`" not in readme] == []
