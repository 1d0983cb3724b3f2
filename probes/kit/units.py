"""Which units systemd will start at the next boot, by its links: asking systemctl would start a program and wait."""

from collections.abc import Iterator, Mapping

from probes.kit.facts import Gap, Seen, seen_or
from probes.kit.host import Host

ETC = "/etc/systemd/system"
PLACES = (ETC, "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
NOWHERE = "/dev/null"  # what `systemctl mask` links to


class Units:
    """Listings of the few folders, read once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._listed: Mapping[str, Seen[tuple[str, ...]]] = {place: host.names(place) for place in PLACES}
        self._wanted = frozenset(self._in_wants())

    def state(self, name: str) -> Seen[str]:
        """enabled, disabled, or masked; `disabled` are also those that something else starts: a rule of udev."""
        unit = f"{name}.service"
        places = [place for place, names in self._listed.items() if unit in seen_or(names, ())]
        if not places:
            return self._nowhere(unit)
        if any(self._host.link(f"{place}/{unit}") == NOWHERE for place in places[:1]):
            return "masked"
        return "enabled" if unit in self._wanted else "disabled"

    def _nowhere(self, unit: str) -> Seen[str]:
        """The first folder that could not be listed for another reason than that it is not there."""
        gaps = [names for names in self._listed.values() if isinstance(names, Gap)]
        worse = next((gap for gap in gaps if gap.code != "absent"), None)
        return worse or Gap("absent", f"no {unit}")

    def _in_wants(self) -> Iterator[str]:
        for folder in seen_or(self._listed[ETC], ()):
            if folder.endswith((".wants", ".requires")):
                yield from seen_or(self._host.names(f"{ETC}/{folder}"), ())
