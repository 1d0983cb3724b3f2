"""`nvidia-smi -L`, and what stands below the same lines in `nvidia-smi nvlink`: -s, -e and -R."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fingerprint.imports.dump import Told, numbered, of_host
from probes.gpu import Gpu, Gpus
from probes.gpu.nvlink import Link, NvLinkErrors, NvLinks, slot
from probes.kit.facts import NOT_READ, Gap, Map, Seen
from probes.kit.lazy import lazy_regex
from probes.kit.redact import Redactor

BEGINS = lazy_regex(r"^[ \t]*GPU (?P<index>\d+): (?P<name>.+?) \(UUID: (?P<uuid>GPU-[\w-]+)\)[ \t]*$", re.MULTILINE)
_SPEED = lazy_regex(r"^[ \t]*Link (\d+): (?:([\d.]+) GB/s|(<inactive>))[ \t]*$", re.MULTILINE)
_ERROR = lazy_regex(r"^[ \t]*Link (\d+): (Replay|Recovery|CRC)(?: Flit)? Errors: (\d+)[ \t]*$", re.MULTILINE)
_REMOTE = lazy_regex(
    r"^[ \t]*Link (\d+): Remote Device ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", re.MULTILINE
)
_NO_LINKS = lazy_regex(r"does not have or support NvLink", re.IGNORECASE)
_ALL_DOWN = lazy_regex(r"as all links are inactive", re.IGNORECASE)
_INACTIVE = Gap("unsupported", "the link is not active")


class Block(NamedTuple):
    """A GPU and the text below its line."""

    number: int
    name: str
    uuid: str
    text: str


def read(text: str, _redactor: Redactor) -> Told:
    """Raises ValueError where the last GPU has fewer links than the others: it is cut off."""
    blocks = list(_blocks(text))
    links = [_links_in(block) for block in blocks]
    if len({len(found) for found in links if found}) > 1 and len(links[-1]) < len(links[0]):
        raise ValueError(
            f"links of `nvidia-smi nvlink` that are cut off: GPU {blocks[-1].number} has {len(links[-1])}, the others "
            f"{len(links[0])}"
        )
    gpus = {numbered(block.number): _gpu(block) for block in blocks}
    return of_host({"gpu": Gpus(gpus=Map(gpus))})


def _blocks(text: str) -> Iterator[Block]:
    found = list(BEGINS.finditer(text))
    for at, next_one in zip(found, (*found[1:], None), strict=True):
        below = text[at.end() : next_one.start() if next_one else len(text)]
        yield Block(int(at["index"]), at["name"], at["uuid"], below)


def _links_in(block: Block) -> frozenset[str]:
    return frozenset(link for form in (_SPEED, _ERROR, _REMOTE) for link, *_ in form.findall(block.text))


def _gpu(block: Block) -> Gpu:
    return Gpu(index=block.number, name=block.name, uuid=block.uuid, nvlink=_nvlink(block.text))


def _nvlink(text: str) -> NvLinks:
    if _NO_LINKS.search(text):
        none = Gap("unsupported")
        return NvLinks(link_count=none, active=none, speed=none, links=none)
    if _ALL_DOWN.search(text):
        return NvLinks(active=0)
    speeds = {link: _megabytes(speed) for link, speed, _ in _SPEED.findall(text)}
    remotes = {link: slot(address) for link, address in _REMOTE.findall(text)}
    links = {link: _link(link, speeds, remotes) for link in dict.fromkeys((*speeds, *remotes))}
    return NvLinks(
        link_count=len(links) or NOT_READ,
        active=sum(speed is not None for speed in speeds.values()) if speeds else NOT_READ,
        links=Map(links) if links else NOT_READ,
        errors=_errors(_ERROR.findall(text)),
    )


def _megabytes(speed: str) -> int | None:
    """Of GB/s; none of a link that is down."""
    return round(float(speed) * 1000) if speed else None


def _link(link: str, speeds: Mapping[str, int | None], remotes: Mapping[str, str]) -> Link:
    remote = remotes.get(link, NOT_READ)
    if link not in speeds:
        return Link(remote_pci=remote)
    speed = speeds[link]
    return Link(state="active" if speed else "inactive", speed=speed or _INACTIVE, remote_pci=remote)


def _errors(found: Sequence[tuple[str, str, str]]) -> NvLinkErrors:
    def added(kind: str) -> Seen[int]:
        counts = [int(count) for _, which, count in found if which == kind]
        return sum(counts) if counts else NOT_READ

    return NvLinkErrors(crc=added("CRC"), replay=added("Replay"), recovery=added("Recovery"))
