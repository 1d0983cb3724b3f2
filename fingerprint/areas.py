"""Which areas are read of a host, and how long each may take."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from fingerprint.settings import Settings
from probes import NOT_OF_THE_HOST
from probes.kit.facts import Section
from probes.kit.probe import Probe, areas, discover

# 70,000 files of 500 packages take 1.4 s where the kernel knows their inodes, and a disk at 3,000 reads a second 20.
DEEP_SECONDS = 25


def probes_of(names: Iterable[str], settings: Settings) -> Mapping[str, Probe[Section]]:
    """By area, with the seconds that settings give them. Raises KeyError for an unknown area."""
    return {
        area: replace(probe, budget=probe.budget + _more_for(probe, settings))
        for area, probe in discover(names).items()
    }


def _more_for(probe: Probe[Section], settings: Settings) -> float:
    """Seconds that settings add to a probe's own."""
    nvml = settings.nvml_options.budget_s if probe.asks_nvml else 0
    return nvml + (DEEP_SECONDS if settings.deep and probe.of == "environment" else 0)


def names_of_host() -> tuple[str, ...]:
    """The areas about the host itself, without importing any."""
    return tuple(area for area in areas() if area not in NOT_OF_THE_HOST)


def host_areas(probes: Mapping[str, Probe[Section]]) -> tuple[str, ...]:
    """The areas about the host itself, in the order in which they are read: last those that NVML may hold up."""
    about_host = [probe for probe in probes.values() if probe.of == "host"]
    return tuple(probe.area for probe in sorted(about_host, key=lambda probe: probe.asks_nvml))
