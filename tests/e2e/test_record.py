"""A host that was recorded on one machine is read again on another."""

import json
from collections.abc import Iterator
from typing import Any

from tests.e2e.conftest import Cli

MOVING = ("frequency", "packages", "idle")  # telemetry and counters among the facts


def facts(fingerprint: Cli, *asked: str) -> dict[str, Any]:
    document = json.loads(fingerprint("snapshot", *asked, "--no-store", "--format", "json").stdout)
    (section,) = document["sections"].values()
    found: dict[str, Any] = section["facts"]
    return found


def values(facts: Any) -> Iterator[Any]:
    """What is neither a group of facts nor a collection."""
    if isinstance(facts, dict) and facts.get("$") in (None, "map"):
        for item in facts.get("items", facts).values():
            yield from values(item)
    elif facts != "map":
        yield facts


def test_a_replayed_host_reads_as_the_recorded_one_and_is_not_kept(fingerprint: Cli) -> None:
    fingerprint("record", "here", "--area", "cpu")
    replayed = facts(fingerprint, "--replay", "here", "--area", "cpu")
    live = facts(fingerprint, "--area", "cpu")
    lasting = set(live) - set(MOVING)
    assert {name: replayed.get(name) for name in lasting} == {name: live[name] for name in lasting}
    assert json.loads(fingerprint("runs", "--format", "json").stdout) == []


def test_what_was_not_recorded_has_no_value(fingerprint: Cli) -> None:
    fingerprint("record", "here", "--area", "cpu")
    assert list(values(facts(fingerprint, "--replay", "here", "--area", "memory"))) == []


def test_a_folder_that_holds_no_recording_is_named(fingerprint: Cli) -> None:
    done = fingerprint("snapshot", "--replay", "nowhere", status=2)
    assert "nowhere/recording.json" in done.stderr
    assert "fingerprint record" in done.stderr
