"""The disks below the host's file systems: which they are, how the kernel asks them, and what was asked of them."""

from probes.block.reading import disk
from probes.block.sections import Block, Disk
from probes.kit.disks import BLOCKS, key_of
from probes.kit.facts import Gap, Map, Seen, then
from probes.kit.host import Host
from probes.kit.probe import Target, probe

__all__ = ["Block", "read"]

MOST = 256
IN_MEMORY = ("loop", "ram", "zram", "fd", "sr")
"""Beginnings of names: memory, files, drives of which no server reads its weights."""


@probe(of="host", budget=1.5)
def read(host: Host, _target: Target) -> Block:
    return Block(disks=then(host.names(BLOCKS), lambda names: _disks(host, names)))


def _disks(host: Host, names: tuple[str, ...]) -> Seen[Map[Disk]]:
    wanted = [name for name in names if not name.startswith(IN_MEMORY)]
    if len(wanted) > MOST:
        return Gap("failed", f"{len(wanted)} block devices, of which at most {MOST} are looked at")
    targets = {name: host.link(f"{BLOCKS}/{name}") for name in wanted}
    there = {name: target for name, target in targets.items() if host.line(f"{BLOCKS}/{name}/size") != "0"}
    return Map({_key(host, name, target): disk(host, name) for name, target in there.items()})


def _key(host: Host, name: str, target: Seen[str]) -> str:
    """In a tree that was copied it may be a folder."""
    return key_of(host, name if isinstance(target, Gap) else target)
