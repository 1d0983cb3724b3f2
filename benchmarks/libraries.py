"""An environment of 500 distributions, read as a run reads it, and listed by pip. Prints both, in seconds, as JSON.

    python -m benchmarks.libraries [PAIRS]

The files of those packages that are held against RECORD are there, about as many as the real ones have; of the others
RECORD and METADATA are. Everything is in the page cache. On our side no start of an
interpreter is counted: the process that reads is there for the whole run, and the reading is its
second one, which finds each RECORD as it knows it. The first takes half as much again.
"""

import json
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import distributions
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

DISTRIBUTIONS = 500
WATCHED = {"torch": 2_900, "transformers": 4_500, "vllm": 2_300, "sglang": 1_800, "numpy": 650, "triton": 350}
HEADERS = {"torch": 8_500, "numpy": 370, "triton": 100}
OF_NVIDIA, FILES_OF_NVIDIA = 20, 10
ROWS = 100
CONTENT = b"# a line of code\n"
OURS = """
import gc, json, sys, time
from probes.kit.host import Host
from probes.kit.probe import Target
host = Host()
gc.disable()  # as in the process that reads
from probes.libraries import read
read.read(host, Target("main", int(sys.argv[1])))
began = time.perf_counter()
section = read.read(host, Target("main", int(sys.argv[1])))
print(json.dumps([time.perf_counter() - began, len(section.packages.items)]))
"""


def sizes() -> Iterator[tuple[str, int, bool]]:
    """Name, files, and whether they are there."""
    for name, files in WATCHED.items():
        yield name, files, True
    for number in range(OF_NVIDIA):
        yield f"nvidia_part{number}_cu12", FILES_OF_NVIDIA, True
    for number in range(DISTRIBUTIONS - len(WATCHED) - OF_NVIDIA):
        yield f"package_{number}", ROWS, False


def descriptions() -> list[str]:
    """What real packages say of themselves, without name and version: those of this environment."""
    texts = (one.read_text("METADATA") or "" for one in distributions())
    named = ("Metadata-Version:", "Name:", "Version:")
    return ["".join(line for line in text.splitlines(True) if not line.startswith(named)) for text in texts if text]


def install(site: Path, name: str, files: int, there: bool, metadata: str) -> None:
    digest = urlsafe_b64encode(sha256(CONTENT).digest()).decode().rstrip("=")
    rows = [f"{name}/part{number // 40}/module_{number}.py" for number in range(files)]
    rows += [f"{name}/include/part{number // 40}/header_{number}.h" for number in range(HEADERS.get(name, 0))]
    for row in rows if there else ():
        (site / row).parent.mkdir(parents=True, exist_ok=True)
        (site / row).write_bytes(CONTENT)
    info = site / f"{name}-1.{files}.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.{files}.0\n{metadata}")
    (info / "INSTALLER").write_text("pip\n")
    lines = [f"{row},sha256={digest},{len(CONTENT)}" for row in rows]
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,"]) + "\n")


def environment(root: Path) -> tuple[Path, Path]:
    """Its python, and the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    (site,) = root.glob("lib/python3*/site-packages")
    for (name, files, there), metadata in zip(sizes(), cycle(descriptions()), strict=False):
        install(site, name, files, there, metadata)
    return root / "bin/python", site


def listed(site: Path) -> float:
    """Seconds of `pip list`."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "pip", "list", "--disable-pip-version-check", "--path", str(site)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    assert len(done.stdout.splitlines()) == DISTRIBUTIONS + 2
    return seconds


def ours(pid: int) -> float:
    """Seconds of one reading."""
    done = subprocess.run([sys.executable, "-c", OURS, str(pid)], check=True, capture_output=True, text=True)
    seconds, packages = json.loads(done.stdout)
    assert packages == DISTRIBUTIONS
    return float(seconds)


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with TemporaryDirectory() as folder:
        python, site = environment(Path(folder) / "env")
        with subprocess.Popen([str(python), "-c", "input()"], stdin=subprocess.PIPE, cwd=folder) as child:
            time.sleep(0.3)  # until it is that python
            ours(child.pid), listed(site)
            print(json.dumps([(ours(child.pid), listed(site)) for _ in range(pairs)]))
            child.kill()


if __name__ == "__main__":
    main()
