"""Every folder under tests/hosts/ is a host: adding one is adding data. See the README there."""

import json
import runpy
from pathlib import Path

import pytest

from fingerprint.testing import RECORDING, SNAPSHOT, Replay, load, sections_of

SCRIPT = Path(__file__).parent.parent / "scripts" / "record_hosts.py"
FOLDERS = sorted(path.parent for path in (Path(__file__).parent / "hosts").glob(f"*/{RECORDING}"))
HOW = "if the difference is meant, write the snapshots anew: .venv/bin/python scripts/record_hosts.py"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_replayed_host_gives_its_whole_snapshot(folder: Path) -> None:
    expected = json.loads((folder / SNAPSHOT).read_text())
    assert sections_of(Replay(load(folder))) == expected, HOW


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_probe_breaks_on_a_recorded_host(folder: Path) -> None:
    broken = {area: section for area, section in sections_of(Replay(load(folder))).items() if "failed" in section}
    assert not broken


def test_the_readme_tells_where_each_host_comes_from() -> None:
    readme = (Path(__file__).parent / "hosts" / "README.md").read_text()
    assert len(FOLDERS) >= 3
    assert [folder.name for folder in FOLDERS if f"`{folder.name}`" not in readme] == []


TTAR = """\
Directory: fixtures/proc
Mode: 755
# ttar - - -
Path: fixtures/proc/self
SymlinkTo: 26231
# ttar - - -
Path: fixtures/proc/26231/cmdline
Lines: 1
vimNULLBYTEmain.goNULLBYTEEOF
Mode: 644
# ttar - - -
Path: fixtures/proc/meminfo
Lines: 2
MemTotal: 1 kB
MemFree: 1 kB
Mode: 644
"""


def test_a_tree_in_a_ttar_archive_is_unpacked_to_its_bytes(tmp_path: Path) -> None:
    archive = tmp_path / "fixtures.ttar"
    archive.write_text(TTAR)
    runpy.run_path(str(SCRIPT))["unpack"](archive, tmp_path)
    assert (tmp_path / "fixtures/proc/26231/cmdline").read_bytes() == b"vim\0main.go\0"
    assert (tmp_path / "fixtures/proc/meminfo").read_text() == "MemTotal: 1 kB\nMemFree: 1 kB\n"
    assert not (tmp_path / "fixtures/proc/self").exists()


def test_every_host_made_from_a_tree_is_among_the_recorded_ones() -> None:
    assert set(runpy.run_path(str(SCRIPT))["TREES"]) <= {folder.name for folder in FOLDERS}
