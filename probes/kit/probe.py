"""What a probe is, and how the probes of this package are found."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

import probes
from probes.kit.facts import Section
from probes.kit.host import Host

Of = Literal["host", "process", "environment", "container"]
Cadence = Literal["border", "tick", "slow", "serving"]
S = TypeVar("S", bound=Section)


class Target(NamedTuple):
    """What a section is about. The host's name is empty and stands in no path."""

    name: str = ""
    pid: int = 0


HOST = Target()
MAIN = "main"
"""The name of the process that a run starts; those below it are called `main.PROGRAM.N`."""


class Probe(msgspec.Struct, Generic[S], frozen=True):
    """One way to read one area.

    area     first segment of its facts' paths; the module's name
    of       what its targets are
    budget   seconds after which it is given up
    cadence  `border`: before, after and when something may have changed; `tick`: also at each sample; `slow`:
             each half minute of a run; `serving`: of a server once it serves, and at the end of a run that it outlives
    sample   reads in place of `read` at each sample, whatever the cadence says: only what moves, the rest NOT_READ
    asks_nvml  its reading may wait for NVML, whose seconds are a setting and come on top of `budget`
    """

    area: str
    of: Of
    section: type[S]
    read: Callable[[Host, Target], S]
    budget: float
    cadence: Cadence
    sample: Callable[[Host, Target], S] | None = None
    asks_nvml: bool = False

    @property
    def at_samples(self) -> "Probe[S]":
        """This one, as whoever samples reads it."""
        return self if self.sample is None else replace(self, read=self.sample)


def probe(
    *,
    of: Of,
    budget: float = 1.0,
    cadence: Cadence = "border",
    sample: Callable[[Host, Target], Any] | None = None,
    asks_nvml: bool = False,
) -> Callable[[Callable[[Host, Target], S]], Probe[S]]:
    """Makes a function (Host, Target) -> Section the Probe of its module.

    The module may be a package of the area's name; the section type is the return annotation.
    """

    def decorate(read: Callable[[Host, Target], S]) -> Probe[S]:
        area = read.__module__.split(".")[1]
        return Probe(area, of, read.__annotations__["return"], read, budget, cadence, sample, asks_nvml)

    return decorate


@cache
def areas() -> tuple[str, ...]:
    """The names of all areas, without importing any."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(probes.__path__) if m.name != "kit"))


def discover(only: Iterable[str] | None = None) -> Mapping[str, Probe[Section]]:
    """The probes by area; `only` limits what is imported. Raises KeyError for an unknown area."""
    found: dict[str, Probe[Section]] = {}
    known = areas()
    for area in known if only is None else only:
        if area not in known:
            raise KeyError(area)
        module = importlib.import_module(f"probes.{area}")
        found[area] = next(value for value in vars(module).values() if type(value) is Probe)
    return found
