"""What was seen of a real llama-server, for where there is none: exported runs, and a process as it was read."""

import json
from pathlib import Path

import pytest

from fingerprint.testing import SNAPSHOT
from tests.e2e.conftest import Cli
from tests.e2e.test_one_change import the_suspect
from tests.real.recorded import replayed

RECORDINGS = Path(__file__).parent / "recordings"
USUAL = str(RECORDINGS / "usual.json")


@pytest.mark.parametrize(
    ("changed", "suspect", "before", "after"),
    [
        ("threads-2", "process/main/flags/--threads", ["1"], ["2"]),
        ("variable", "process/main/env/GGML_NO_BACKTRACE", {"gap": "absent"}, "1"),
        ("deeper", "process/main/flags/-m", ["tiny.gguf"], ["deeper.gguf"]),
    ],
)
def test_what_was_changed_is_the_one_suspect(
    fingerprint: Cli, changed: str, suspect: str, before: object, after: object
) -> None:
    diff = fingerprint.diff(USUAL, str(RECORDINGS / f"{changed}.json"))
    assert the_suspect(diff) == suspect
    assert (diff["suspects"][0]["before"], diff["suspects"][0]["after"]) == (before, after)


def test_another_release_in_its_place_is_told_by_what_was_mapped(fingerprint: Cli) -> None:
    diff = fingerprint.diff(str(RECORDINGS / "older.json"), USUAL)
    changed = {suspect["facts"][0]: (suspect["before"], suspect["after"]) for suspect in diff["suspects"]}
    assert changed["mapped/main/libraries/libggml-base/version"] == ("0.17.0", "0.20.0")
    assert changed["mapped/main/libraries/libllama-common/version"] == ("571d0d5", "7e4c0a9")
    assert all(fact.startswith(("mapped/main/libraries/lib", "process/main/program/")) for fact in changed)


def test_a_replayed_process_gives_its_whole_snapshot() -> None:
    folder = RECORDINGS / "llama-server"
    expected = json.loads((folder / SNAPSHOT).read_text())
    how = "if the difference is meant, write the snapshot anew: .venv/bin/python -m tests.real.recorded FOLDER"
    assert replayed(folder) == expected, how


def test_a_replayed_process_tells_its_model() -> None:
    section = replayed(RECORDINGS / "llama-server")
    target = section["model"]["models"]["items"]["target"]
    assert (target["path"], target["weights"]["parameters"]) == ("/srv/models/tiny.gguf", 110_656)
    assert section["process"]["flags"]["items"]["--threads"] == ["1"]
