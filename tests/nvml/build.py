"""The library, compiled once: by the system's compiler, else by the one that ziglang brings."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent
# A definition that differs from the header's declaration is an error of C, not a warning.
FLAGS = "-std=gnu11 -shared -fPIC -O1 -g0 -Wall -Wextra -Werror -fvisibility=hidden".split()


def library(folder: Path) -> Path:
    """The compiled library in `folder`; what is there already is taken if it is of these very sources."""
    sources = sorted(SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (Path(__file__), *sources))).hexdigest()[:16]
    made = folder / f"fake-nvml-{digest}.so"
    if not made.exists():
        half_made = folder / f"{made.name}.{os.getpid()}"
        _compile([path for path in sources if path.suffix == ".c"], half_made)
        half_made.rename(made)  # several test processes may build it at once
    return made


def _compile(sources: list[Path], into: Path) -> None:
    argv = [*compiler(), *FLAGS, "-isystem", str(header().parent), *map(str, sources), "-o", str(into), "-ldl"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)} failed:\n{done.stderr}")


def compiler() -> list[str]:
    """Raises LookupError, in words, where there is none."""
    if shutil.which("cc"):
        return ["cc"]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise LookupError("no C compiler: install cc, or the group `test` of pyproject.toml, which holds ziglang")


def header() -> Path:
    """NVIDIA's nvml.h. Raises LookupError, in words, where nvidia-nvml-dev is not installed."""
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations or () if found else ():
        for path in sorted(Path(folder).glob("*/include/nvml.h")):
            return path
    raise LookupError("no nvml.h: install nvidia-nvml-dev, which the group `test` of pyproject.toml holds")
