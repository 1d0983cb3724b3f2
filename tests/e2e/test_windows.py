"""A time behind a name means the attempts that ran then."""

import time

import pytest

from tests.e2e.conftest import Cli


@pytest.mark.long
def test_attempts_before_and_after_a_moment_are_compared_by_it(fingerprint: Cli) -> None:
    run = ("run", "-q", "--name", "bench", "--", "true")
    for threads in ("1", "1"):
        fingerprint(*run, env={"OMP_NUM_THREADS": threads})
    time.sleep(1.0)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for threads in ("2", "2"):
        fingerprint(*run, env={"OMP_NUM_THREADS": threads})
    told = fingerprint.diff(f"bench@..{moment}", f"bench@{moment}..", status=1)
    assert (told["a"]["name"], told["b"]["name"]) == ("bench#1..2", "bench#3..4")
    assert [suspect["facts"] for suspect in told["suspects"]] == [["process/main/env/OMP_NUM_THREADS"]]
    assert fingerprint.diff("bench", "bench#4")["a"]["name"] == "bench"
    said = fingerprint("show", "bench@-1d", status=2).stderr
    assert "is a time at which no attempt ran, the nearest is bench#1, from" in said
