"""Who answers for what is not as it should be, and until when."""

import datetime as dt
from collections.abc import Iterable, Sequence

import msgspec

from fingerprint.gate.contract import Waiver
from probes.kit.paths import parse_glob, parse_path


class Waived(msgspec.Struct, frozen=True):
    """A waiver as a policy gives it. source: `FILE:LINE`. expires: the last day on which it counts."""

    fact: str
    reason: str
    owner: str
    expires: dt.date
    source: str


class Waivers:
    """Those of all policies on one day; counts how often each is used."""

    def __init__(self, given: Iterable[Waived], today: dt.date) -> None:
        self._given: Sequence[Waived] = tuple(given)
        self._today = today
        self._used = [0] * len(self._given)

    def use(self, path: str) -> int | None:
        """The index of the first that lets this path, or glob that led nowhere, pass; None where none does."""
        at = next((i for i, it in enumerate(self._given) if self._counts(it) and _covers(it.fact, path)), None)
        if at is not None:
            self._used[at] += 1
        return at

    def _counts(self, waived: Waived) -> bool:
        return self._today <= waived.expires

    def told(self) -> tuple[Waiver, ...]:
        """In the order of the policies."""
        return tuple(
            Waiver(
                fact=it.fact, reason=it.reason, owner=it.owner, expires=it.expires.isoformat(), source=it.source,
                used=used, expired=not self._counts(it),
            )
            for it, used in zip(self._given, self._used, strict=True)
        )  # fmt: skip


def _covers(glob: str, path: str) -> bool:
    """A waiver for a device, or for a collection, is one for all that is below it."""
    if "*" in path:
        return glob == path
    names = parse_path(path)
    return any(parse_glob(glob).matches(type(names)(names[:end])) for end in range(len(names), 0, -1))
