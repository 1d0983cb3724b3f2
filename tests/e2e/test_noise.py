"""What moves by itself is learned on a real host, and a diff on that host knows of it."""

import json
import os
import stat
import subprocess
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.turned import kept, turning

SWAPPINESS = Path("/proc/sys/vm/swappiness")


def file_of(fingerprint: Cli) -> Path:
    return fingerprint.home / "state/fingerprint/noise.json"


def test_an_idle_host_moves_and_nothing_lasting_does(fingerprint: Cli) -> None:
    told: dict[str, Any] = json.loads(fingerprint("noise", "3", "--every", "0.2", "--format", "json").stdout)
    assert (told["schema"], told["snapshots"], told["findings"]) == ("fingerprint.noise/1", 3, [])
    assert told["seconds"] > 0
    switches = told["facts"]["pressure/activity/ctxt"]
    assert (switches["kind"], switches["looks"]) == ("counter", 2)
    assert 0 < switches["low"] <= switches["high"]
    assert {fact["kind"] for fact in told["facts"].values()} <= {"state", "counter", "telemetry"}
    assert stat.S_IMODE(file_of(fingerprint).stat().st_mode) == 0o600


def test_a_diff_on_this_host_knows_what_was_learned_and_goes_on_without_it(fingerprint: Cli) -> None:
    for name in ("a", "b"):
        fingerprint("run", "--name", name, "--", "true")
    assert fingerprint.diff("a", "b")["own_noise"] is None
    text = fingerprint("noise", "2", "--every", "0.2").stdout
    assert "nothing lasting changed" in text
    assert fingerprint.diff("a", "b")["own_noise"]["snapshots"] == 2
    file_of(fingerprint).write_text("{")
    done = fingerprint("diff", "a", "b", "--format", "json", status=None)
    assert json.loads(done.stdout)["own_noise"] is None
    assert "noise.json is damaged" in done.stderr


def test_a_damaged_file_is_told_before_any_time_is_spent(fingerprint: Cli) -> None:
    file_of(fingerprint).parent.mkdir(parents=True)
    file_of(fingerprint).write_text("{")
    said = fingerprint("noise", "1000", "--every", "3600", status=2).stderr
    assert len(said.splitlines()) == 1
    assert f"{file_of(fingerprint)} is damaged" in said
    assert "delete it" in said


@pytest.mark.parametrize("words", [("1",), ("many",), ("3", "--every", "0"), ("3", "--every", "nan")])
def test_what_cannot_be_asked_for_is_one_sentence(fingerprint: Cli, words: tuple[str, ...]) -> None:
    said = fingerprint("noise", *words, status=2).stderr
    assert len(said.splitlines()) == 1
    assert "see `fingerprint noise --help`" in said


def test_what_was_learned_is_kept_where_it_cannot_be_printed(fingerprint: Cli) -> None:
    with open("/dev/full", "w") as full:
        argv = fingerprint.argv("noise", "2", "--every", "0.1")
        done = subprocess.run(argv, env=fingerprint.env, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert file_of(fingerprint).exists()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can turn a setting")
def test_a_setting_that_moves_meanwhile_is_told_first_and_sets_the_exit_status(fingerprint: Cli) -> None:
    with turning(), kept(str(SWAPPINESS)):
        learning = subprocess.Popen(
            fingerprint.argv("noise", "3", "--every", "0.3"), env=fingerprint.env, stdout=subprocess.PIPE, text=True
        )
        for value in cycle(range(1, 100)):
            if learning.poll() is not None:
                break
            SWAPPINESS.write_text(str(value))
            time.sleep(0.02)
        text, _ = learning.communicate()
    assert learning.returncode == 1
    head, _, rest = text.partition("\nCounter")
    assert "lasting fact changed meanwhile" in head
    assert "memory/vm/swappiness" in head
    assert "memory/vm/swappiness" not in rest
