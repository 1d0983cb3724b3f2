"""A question that is given up: what was answered, what was not, and what is left behind."""

import os
import time
from pathlib import Path

import pytest

from probes.kit import forked
from probes.kit.answers import Space
from probes.kit.facts import Gap, Seen
from probes.kit.forked import asked_apart
from probes.kit.host import Host
from tests.kit.standing_still import standing_still

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")


def test_the_answer_is_the_childs() -> None:
    assert asked_apart(lambda: Space(2, 1), Space, 5) == Space(2, 1)
    assert asked_apart(lambda: Gap("denied", "not for you"), Space, 5) == Gap("denied")


def test_who_does_not_answer_in_time_is_given_up_and_reaped() -> None:
    began = time.monotonic()
    seen = asked_apart(lambda: time.sleep(60) or Space(2, 1), Space, 0.05)
    assert seen == Gap("timed_out")
    assert time.monotonic() - began < 5
    assert not forked._left_behind


def test_a_child_that_ends_without_an_answer_is_a_failed_question() -> None:
    assert asked_apart(lambda: os._exit(0), Space, 5) == Gap("failed")
    assert asked_apart(_raises, Space, 5) == Gap("failed")


def _raises() -> Seen[Space]:
    raise MemoryError


def test_the_child_holds_nothing_that_somebody_may_wait_for() -> None:
    ours, theirs = os.pipe()
    seen = asked_apart(lambda: Space(len(os.listdir("/proc/self/fd")), 0), Space, 5)
    os.close(ours)
    os.close(theirs)
    assert seen == Space(2, 0)  # the pipe, and the folder that is listed


def test_space_of_a_file_system_that_answers_is_the_same_with_patience() -> None:
    apart, here = Host().space("/proc", 5), Host().space("/proc")
    assert apart == here
    assert isinstance(here, Space)
    assert Host().space("/no such place", 5) == Gap("absent")


@pytest.mark.root
@root
def test_a_file_system_whose_server_is_gone_costs_the_patience_and_no_more(tmp_path: Path) -> None:
    with standing_still(tmp_path / "models") as folder:
        began = time.monotonic()
        assert Host().space(str(folder), 0.1) == Gap("timed_out")
        assert time.monotonic() - began < 5
