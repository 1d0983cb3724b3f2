"""Real virtual environments with made-up distributions, and a Python that runs in one."""

import csv
import os
import subprocess
import sys
import venv
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from fingerprint.sections import decoder_of
from probes.kit.facts import Map
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.libraries import Libraries
from probes.libraries import read as probe
from probes.libraries.sections import Package
from tests.probes.children import running

RELEASE = f"{sys.version_info.major}.{sys.version_info.minor}"
SLEEP = ("-c", "import time; time.sleep(60)")
# A child that is forked and calls itself something else, as engines' workers do; both end with the parent.
TITLED = (
    "-c",
    """\
import os, sys, time
sys.path.append(sys.argv[1])
from process import entitle
told, tell = os.pipe()
if child := os.fork():
    os.read(told, 1)
    print(child, flush=True)
    sys.stdin.read()
    os.kill(child, 9)
else:
    entitle("VLLM::Worker_TP0")
    os.write(tell, b"1")
    time.sleep(60)
""",
    str(Path(__file__).parents[1] / "standin"),
)
# None of ours: the environment of the tests is not that of the child.
NO_VARIABLES = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Environment:
    """root: sys.prefix. site: its folder of packages."""

    def __init__(self, root: Path, *, system_site: bool = False) -> None:
        venv.create(root, symlinks=True, with_pip=False, system_site_packages=system_site)
        self.root = root
        self.site = root / "lib" / f"python{RELEASE}" / "site-packages"
        self.python = root / "bin" / "python"

    def install(self, name: str, version: str, files: Mapping[str, str] | None = None, **info: str) -> Path:
        return install(self.site, name, version, files, **info)

    def read(self, *options: str, host: Host | None = None, **start: Any) -> Libraries:
        """Of a Python that sleeps in it."""
        with self.running(*options, **start) as pid:
            return read(pid, host)

    @contextmanager
    def running(self, *options: str, words: Sequence[str] = SLEEP, **start: Any) -> Iterator[int]:
        started = {"env": NO_VARIABLES, "cwd": "/", **start}
        with running((str(self.python), *options, *words), **started) as pid:
            yield pid


@contextmanager
def titled(python: Path) -> Iterator[int]:
    """The pid of a worker of that Python, whose arguments its title stands over."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen((python, *TITLED), env=NO_VARIABLES, cwd="/", **pipes) as parent:  # type: ignore[call-overload]
        yield int(parent.stdout.readline())


def read(pid: int, host: Host | None = None) -> Libraries:
    """As whoever receives it from the reader decodes it, strictly."""
    section = probe.read(host or Host(), Target("main", pid))
    return decoder_of(Libraries)(msgspec.json.encode(section))


def install(site: Path, name: str, version: str, files: Mapping[str, str] | None = None, **info: str) -> Path:
    """As an installer would, RECORD last; `info` are further files of the .dist-info, by name with `_` for a dot."""
    contents = {f"{name}/__init__.py": "", **(files or {})}
    folder = f"{name}-{version}.dist-info"
    contents[f"{folder}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nWords.\n"
    contents.update({f"{folder}/{file.replace('_json', '.json')}": text for file, text in info.items()})
    for path, content in contents.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(content)
    with (site / folder / "RECORD").open("w", newline="") as record:
        rows = csv.writer(record, lineterminator="\n")
        rows.writerows((path, _checksum(content), len(content.encode())) for path, content in contents.items())
        rows.writerow((f"{folder}/RECORD", "", ""))
    return site / folder


def _checksum(content: str) -> str:
    return "sha256=" + urlsafe_b64encode(sha256(content.encode()).digest()).decode().rstrip("=")


def package(libraries: Libraries, name: str) -> Package:
    assert isinstance(libraries.packages, Map)
    return libraries.packages.items[name]
