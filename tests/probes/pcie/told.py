"""Prints what this machine tells of some areas: as root, then as nobody. Run where the tests cannot be."""

import os
import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from probes.kit.host import Host
from probes.kit.probe import HOST, MAIN, Target, discover

NOBODY = 65534


def sections(areas: Iterable[str]) -> dict[str, Any]:
    """Of a process: this one itself."""
    host, this = Host(), Target(MAIN, os.getpid())
    return {area: one.read(host, HOST if one.of == "host" else this) for area, one in discover(areas).items()}


def main() -> None:
    areas = sys.argv[1:]
    as_root = sections(areas)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    sys.stdout.buffer.write(msgspec.json.encode({"root": as_root, "nobody": sections(areas)}))


if __name__ == "__main__":
    main()
