"""What a driver or kernel no longer reports follows its release."""

import pytest

from fingerprint import catalog
from fingerprint.diff.retired import REPORTERS, following_releases
from probes.kit.facts import Fact


@pytest.mark.parametrize("reporter", REPORTERS)
def test_the_releases_that_may_have_retired_it_are_facts(reporter: str) -> None:
    assert catalog.find(reporter)


def test_it_follows_them_beside_what_it_follows_anyway() -> None:
    fact = Fact(kind="config", why="a cap", source="made up", follows=("made/mode",))
    assert following_releases(fact).follows == ("made/mode", *REPORTERS)
