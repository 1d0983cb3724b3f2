"""Hand-made machines: a few files under a root, and a host with places it may not read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.sections import decoder_of, leaves
from probes.kit.facts import Gap, Section
from probes.kit.host import Host
from probes.kit.paths import FactPath, parse_glob
from probes.kit.probe import HOST, Probe, discover

Lasting = Mapping[FactPath, Any]


def tree(root: Path, files: Mapping[str, str]) -> Host:
    """A host whose machine has these files and no others."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Host(str(root))


class Forbidding(Host):
    """This machine, as somebody who may not read beneath `places`."""

    def __init__(self, *places: str) -> None:
        super().__init__()
        self.places = places

    def _ask(self, call: str, key: str, live: Callable[[], Any]) -> Any:
        return Gap("denied", "not for you") if key.startswith(self.places) else super()._ask(call, key, live)


def read(area: str, host: Host) -> Any:
    """The area's section, as one that came through a strict decode."""
    probe: Probe[Section] = discover([area])[area]
    return decoder_of(probe.section)(msgspec.json.encode(probe.read(host, HOST)))


def lasting(*areas: str) -> Lasting:
    """path -> (fact, value) of all lasting facts of this machine's areas."""
    host = Host()
    found = ((area, leaf) for area in areas for leaf in leaves(read(area, host)) if leaf.fact.lasting)
    return {FactPath((area, *leaf.names)): (leaf.fact, leaf.value) for area, leaf in found}


def changed(before: Lasting, after: Lasting) -> set[FactPath]:
    return {path for path in {*before, *after} if before.get(path, "")[1:] != after.get(path, "")[1:]}


def causes(before: Lasting, after: Lasting) -> set[str]:
    """What changed and does not follow from anything else that changed."""
    moved = changed(before, after)
    return {str(path) for path in moved if not _follows(path, {**before, **after}[path][0].follows, moved)}


def _follows(path: FactPath, globs: tuple[str, ...], moved: set[FactPath]) -> bool:
    return any(parse_glob(glob).matches(other) for glob in globs for other in moved - {path})
