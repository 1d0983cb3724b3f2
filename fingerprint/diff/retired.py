"""What a driver or kernel no longer reports, or does not yet. Its facts did not change: whoever reports them did."""

from typing import Any

from msgspec.structs import replace

from probes.kit.facts import Fact, Gap

NO_LONGER, NEWLY = "no longer reported", "not reported by the other driver or kernel"
REPORTERS = ("driver/module/version", "driver/nvml/driver_version", "kernel/release")


def is_retired(value: Any) -> bool:
    return isinstance(value, Gap) and value.code == "retired"


def is_up_to_the_reporter(value: Any) -> bool:
    """Whether another release of who reports it may be why there is no value."""
    return isinstance(value, Gap) and value.code in ("retired", "unsupported")


def following_releases(fact: Fact) -> Fact:
    """As if it followed the release of whoever reports it."""
    return replace(fact, follows=(*fact.follows, *REPORTERS))
