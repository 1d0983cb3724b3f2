"""Records the hosts under tests/hosts/ anew: run it as `.venv/bin/python scripts/record_hosts.py`.

Without arguments every snapshot.json is made again from its recording; review the difference before it is
committed. With FINGERPRINT_CORPUS=DIR (a folder that holds the archives named below, at any depth) the
recordings made from other projects' trees are made again too: do that when a probe asks new questions.

    --this NAME [--replace OLD NEW]...   records the machine that it runs on as tests/hosts/NAME
"""

import argparse
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fingerprint.testing import expect, record
from probes.kit.host import Host

HOSTS = Path(__file__).resolve().parent.parent / "tests" / "hosts"

# Host -> archive, the folder in it that is the root of the tree, words of other people's machines to replace.
# Licences: tests/hosts/README.md.
TREES: dict[str, tuple[str, str, dict[str, str]]] = {
    "i7-1370p-hybrid-linux6.1-debian12": (
        "20em64t-hybrid-1p6c2t+2ca4co1t.tar.bz2",
        "20em64t-hybrid-1p6c2t+2ca4co1t",
        {"vesubie--vg-root": "vg-root"},
    ),
    "gb10-linux6.17-ubuntu2404": ("nvidia-dgx-gb10.tar.bz2", "nvidia-dgx-gb10", {}),
    "xeon-e7-4870x4-intel-idle": ("40intel64-4n10c+pci-conflicts.tar.bz2", "40intel64-4n10c+pci-conflicts", {}),
    "opteron-6134x4-powernow-k8": ("32amd64-4s2n4c-cgroup2.tar.bz2", "32amd64-4s2n4c-cgroup", {}),
    "i7-8650u-procfs-tree": ("procfs_fixtures.ttar", "fixtures", {}),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--this", metavar="NAME")
    parser.add_argument("--replace", metavar=("OLD", "NEW"), nargs=2, action="append", default=[])
    asked = parser.parse_args()
    if asked.this:
        record(Host(), None, HOSTS / asked.this, stand_ins=dict(asked.replace))
        return 0
    corpus = os.environ.get("FINGERPRINT_CORPUS")
    for folder in sorted(path.parent for path in HOSTS.glob("*/recording.json")):
        if not (corpus and folder.name in TREES):
            expect(folder)
    for name in TREES if corpus else ():
        record_tree(name, Path(corpus or ""))
    return 0


def record_tree(name: str, corpus: Path) -> None:
    archive, root, stand_ins = TREES[name]
    found = sorted(corpus.rglob(archive))
    if not found:
        sys.exit(f"FINGERPRINT_CORPUS={corpus} holds no {archive}: {name} was not recorded")
    with tempfile.TemporaryDirectory() as folder:
        unpack(found[0], Path(folder))
        record(Host(root=f"{folder}/{root}"), None, HOSTS / name, stand_ins=stand_ins)


def unpack(archive: Path, folder: Path) -> None:
    if archive.suffix != ".ttar":
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        return
    for path, content in ttar_files(archive.read_text()):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def ttar_files(text: str) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the regular files of a ttar archive; folders and links are passed over.

    After `Lines: N` stand N lines; NULLBYTE is a zero byte, a final EOF says that no newline followed.
    """
    lines = iter(text.splitlines())
    path = ""
    for line in lines:
        if line.startswith("Path: "):
            path = line.removeprefix("Path: ")
        elif line.startswith("Lines: "):
            body = "".join(next(lines) + "\n" for _ in range(int(line.removeprefix("Lines: "))))
            yield path, re.sub(r"(?<!\\)EOF\n\Z", "", body).replace("NULLBYTE", "\0").encode()


if __name__ == "__main__":
    sys.exit(main())
