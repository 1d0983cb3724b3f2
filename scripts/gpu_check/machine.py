"""The check, on the machine itself: `gpu-check OUT [SECONDS]`."""

import compileall
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fingerprint.imports.nvidia_smi import sections
from fingerprint.imports.nvidia_smi_table import told_before_nvml
from fingerprint.settings import Settings, SettingsError, load
from fingerprint.testing import record
from fingerprint.version import __version__
from fingerprint.walk import value_at
from gpu_check.anonymous import anonymous
from gpu_check.compare import Row, best, compared
from gpu_check.cost import measured
from gpu_check.report import as_json, as_text
from gpu_check.sampling import sampled
from probes.driver import driver
from probes.gpu import gpu
from probes.kit.facts import Gap, Section
from probes.kit.host import Host
from probes.kit.probe import HOST

EQUAL, DIFFERENT, MISSING = 0, 1, 2
ATTEMPTS, AGAIN_SECONDS = 3, 30.0
NEWEST = "999"
"""In place of a driver's version that nvidia-smi does not tell."""
SMI = ("nvidia-smi", "-q", "-x")
SMI_SECONDS = 60
SAMPLED_SECONDS = 10.0
USAGE = "usage: gpu-check OUT [SECONDS]   (a new folder for the report and the recording; seconds of sampling)\n"


class Trouble(Exception):
    """What kept a part of the check from being made."""


class Taken(NamedTuple):
    """One attempt."""

    xml: str
    rows: list[Row]


def main(argv: list[str]) -> int:
    seconds = argv[1] if len(argv) == 2 else f"{SAMPLED_SECONDS:.0f}"
    if len(argv) not in (1, 2) or argv[0].startswith("-") or not seconds.isdecimal():
        sys.stderr.write(USAGE)
        return MISSING
    try:
        return _run(Path(argv[0]), float(seconds))
    except (OSError, SettingsError) as error:
        sys.stderr.write(f"gpu-check: {error}\n")
        return MISSING


def _run(out: Path, seconds: float) -> int:
    out.mkdir(parents=True, exist_ok=True)
    compileall.compile_dir(str(Path(__file__).parent.parent), quiet=2)  # nobody times the compiler
    found = check(out, load(os.environ), seconds)
    (out / "report.json").write_text(as_json(found))
    (out / "report.txt").write_text(as_text(found))
    sys.stdout.write(as_text(found))
    if found["trouble"]:
        return MISSING
    return DIFFERENT if any(row.verdict == "different" for row in found["comparison"]) else EQUAL


def check(out: Path, settings: Settings, seconds: float) -> dict[str, Any]:
    """The parts that need a GPU are left out where there is none; what the machine answers is recorded all the same."""
    began = time.monotonic()
    found: dict[str, Any] = {"about": _about(), "trouble": [], "comparison": []}

    def part(name: str, work: Callable[[], Any]) -> None:
        with _noted(found["trouble"]):
            found[name] = work()

    part("gpus", lambda: _gpus(settings))
    if "gpus" in found:
        part("comparison", lambda: _comparison(out, settings))
        part("cost", lambda: measured(settings))
        if seconds:
            part("sampling", lambda: sampled(settings, seconds))
    part("recording", lambda: _recorded(out, settings))
    return {**found, "seconds": time.monotonic() - began}


@contextmanager
def _noted(troubles: list[str]) -> Iterator[None]:
    """Whatever goes wrong in one part is said, and the others are made."""
    try:
        yield
    except Trouble as trouble:
        troubles.append(str(trouble))
    except Exception as error:  # noqa: BLE001  # on a machine that nobody can reach again, half a report is better
        troubles.append(f"{type(error).__name__}: {error}")


def _about() -> dict[str, str]:
    return {
        "fingerprint": __version__,
        "at": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "Python": platform.python_version(),
        "Linux": platform.release(),
    }


def _gpus(settings: Settings) -> tuple[str, ...]:
    """Their PCI addresses."""
    attached = Host(nvml=settings.nvml_options).nvml_devices()
    if isinstance(attached, Gap):
        raise Trouble(f"no GPU by NVML: {attached.code}, {attached.detail}")
    return attached


def _comparison(out: Path, settings: Settings) -> list[Row]:
    """Once more where something differs, as it may have moved: the third time it is a difference."""
    attempts: list[Taken] = []
    until = time.monotonic() + AGAIN_SECONDS
    for _ in range(ATTEMPTS):
        attempts.append(_attempt(settings))
        (out / "nvidia-smi.xml").write_text(anonymous(attempts[-1].xml))
        if time.monotonic() > until or all(row.verdict != "different" for row in attempts[-1].rows):
            break
    return best(taken.rows for taken in attempts)


def _attempt(settings: Settings) -> Taken:
    host = Host(nvml=settings.nvml_options)
    before = _read(host)
    xml = _smi()
    host.begin_moment()
    after = _read(host)
    try:
        imported = sections(xml)
    except ValueError as error:
        raise Trouble(f"{' '.join(SMI)}: {error}") from error
    ahead = told_before_nvml(_version(imported["driver"]))
    rows = [row for area, told in imported.items() for row in compared(area, told, before[area], after[area], ahead)]
    return Taken(xml, rows)


def _version(told: Section) -> str:
    version = value_at(told, ("nvml", "driver_version"))
    return version if isinstance(version, str) else NEWEST


def _read(host: Host) -> dict[str, Section]:
    return {"gpu": gpu.read(host, HOST), "driver": driver.read(host, HOST)}


def _smi() -> str:
    try:
        done = subprocess.run(SMI, capture_output=True, timeout=SMI_SECONDS, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        raise Trouble("there is no nvidia-smi on PATH to compare with") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"{' '.join(SMI)} did not end within {SMI_SECONDS} s") from None
    return done.stdout.decode("utf-8", "backslashreplace")


def _recorded(out: Path, settings: Settings) -> dict[str, int]:
    folder = out / "recording"
    record(Host(nvml=settings.nvml_options), None, folder)
    return {"questions": len(json.loads((folder / "recording.json").read_bytes()))}
