"""The folder that is carried to a machine with GPUs: our packages, and the wheels that they need there, unpacked."""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
LIB = "lib"
OURS = ("fingerprint", "probes", "scripts/gpu_check")
NEEDED = ("msgspec", "nvidia-ml-py", "psutil", "py-cpuinfo")
PYTHON = "3.12"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
MOST = 30 << 20

MAIN = '''"""gpu-check OUT: see README."""

import sys
from pathlib import Path

if sys.version_info[:2] != ({python}):
    sys.stderr.write("gpu-check: built for Python {version}, and this is %d.%d\\n" % sys.version_info[:2])
    sys.exit(2)
sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

from gpu_check.machine import main

sys.exit(main(sys.argv[1:]))
'''
START = """#!/bin/sh
# gpu-check OUT: needs Python {version} and nothing else.
python=${{PYTHON:-python{version}}}
command -v "$python" >/dev/null || {{
    echo "gpu-check: there is no $python: install Python {version}, or name it in PYTHON" >&2
    exit 2
}}
exec "$python" -I "$(dirname "$0")" "$@"
"""
README = """gpu-check OUT [SECONDS]   (or: python{version} FOLDER OUT)

Takes a snapshot of this machine's GPUs, runs nvidia-smi -q -x, compares what both say, measures what the snapshot
costs, samples a short load for SECONDS (10; 0: not at all), and records the machine. It changes no setting, and is
done in under three minutes.

OUT gets report.txt, report.json, nvidia-smi.xml and recording/. Serial numbers, UUIDs, names of hosts and people are
replaced by stand-ins in all of them; read them before you pass them on all the same.

Exit status: 0 all that both tell is equal, 1 differences (report.txt lists them), 2 something was missing.
FINGERPRINT_NVML names another library than libnvidia-ml.so.1.
"""


def build(folder: Path) -> str:
    """Raises SystemExit, in words, for a folder that holds something else."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: name a new folder")
    assemble(folder, PYTHON)
    with tempfile.TemporaryDirectory() as wheels:
        _download(Path(wheels))
        for wheel in Path(wheels).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder / LIB)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MOST:
        raise SystemExit(f"{folder} has {size >> 20} MiB, more than {MOST >> 20}")
    return f"{folder}: {size / (1 << 20):.1f} MiB"


def assemble(folder: Path, version: str) -> None:
    """All but the wheels. version: of the Python there, `3.12`."""
    (folder / LIB).mkdir(parents=True)
    for package in OURS:
        into = folder / LIB / Path(package).name
        shutil.copytree(CHECKOUT / package, into, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in {"__main__.py": MAIN, "gpu-check": START, "README": README}.items():
        (folder / name).write_text(text.format(version=version, python=version.replace(".", ", ")))
    (folder / "gpu-check").chmod(0o755)


def _download(into: Path) -> None:
    """What requirements.lock pins, by its digests, for the Python and the machine there."""
    (into / "requirements").write_text("".join(_pinned((CHECKOUT / "requirements.lock").read_text())))
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "--only-binary", ":all:",
         "--python-version", PYTHON, "--implementation", "cp", *platforms,
         "-d", str(into), "-r", str(into / "requirements")],
        check=True,
    )  # fmt: skip


def _pinned(lock: str) -> list[str]:
    entries = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)
    found = [entry for entry in entries if entry.partition("==")[0] in NEEDED]
    if len(found) != len(NEEDED):
        raise SystemExit(f"requirements.lock does not pin each of {', '.join(NEEDED)}")
    return found
