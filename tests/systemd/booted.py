"""A machine that systemd runs, booted for tests, with fingerprint in /opt/fingerprint, installed from a wheel."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FINGERPRINT = "/opt/fingerprint/bin/fingerprint"
# The environment's interpreter and its packages are shown where others may enter, wherever they lie outside.
STAGE = """
set -eu
python=$1 base=$2 packages=$3 wheel=$4
mkdir -p /opt/python /opt/packages
mount --bind "$base" /opt/python
mount --bind "$packages" /opt/packages
echo /opt/python/lib >/etc/ld.so.conf.d/000-python.conf  # an interpreter may need its own libpython from there
ldconfig
/opt/python/bin/"$python" -m venv --without-pip /opt/fingerprint
"$packages"/../../../bin/python -m pip --python /opt/fingerprint/bin/python install -q --no-index --no-deps "$wheel"
echo /opt/packages >"$(echo /opt/fingerprint/lib/python*/site-packages)/packages.pth"
"""


class Machine:
    """Booted by tests/systemd/boot; ends, and leaves nothing, with `end`."""

    def __init__(self) -> None:
        self._boot = subprocess.Popen(
            [ROOT / "tests/systemd/boot", "sh", "-c", "echo $BOOT_PID; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._boot.stdout
        assert self._boot.stderr
        self._init = self._boot.stdout.readline().strip()
        self.refused = "" if self._init else self._boot.stderr.read().strip()

    def end(self) -> None:
        self._boot.communicate()

    def runs(self, *argv: str, env: dict[str, str] | None = None, status: int | None = 0) -> str:
        """Standard output of a command in there, and of its troubles; status: that it ends with, None for any."""
        environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(env or {})}
        done = subprocess.run(
            ["nsenter", "-t", self._init, *"-m -u -i -p -C -r -w".split(), *argv],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        assert status in (None, done.returncode), f"{' '.join(argv)}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def shell(self, script: str, *arguments: str, status: int | None = 0) -> str:
        return self.runs("sh", "-c", script, "sh", *arguments, status=status)

    def writes(self, file: str, text: str) -> None:
        self.shell('mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"', file, text)

    def shown(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.runs("systemctl", "show", unit, f"--property={name}", "--value").strip()

    def pid(self, unit: str) -> int:
        """Of its main process, inside."""
        return int(self.shown(unit, "MainPID"))

    def status_of(self, pid: int, name: str) -> str:
        """A line of /proc/PID/status."""
        return self.shell('sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"', name, str(pid)).strip()


def stage(machine: Machine, folder: Path) -> None:
    """folder: where the wheel is built."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    machine.shell(STAGE, python, sys.base_prefix, packages, str(wheel))


def until(condition: Callable[[], bool], seconds: float = 20.0) -> float:
    """Waits; the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"not within {seconds:g} s"
        time.sleep(0.05)
    return time.monotonic() - began
