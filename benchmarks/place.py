"""Where things are measured: an empty folder, a store of its own, and the programs that are compared."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Program, wall

ROOT = Path(__file__).parents[1]


class Place(NamedTuple):
    """folder: empty, no git repository (there ceteris would ask git). torch: a Python that has torch, or empty."""

    folder: Path
    ceteris_program: str
    torch: str
    pairs: int

    def fingerprint(self, *args: str, statuses: tuple[int, ...] = (0,)) -> Program:
        env = {
            "FINGERPRINT_STORE": str(self.folder / "store.db"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "PYTHONPATH": str(ROOT),
        }
        return Program([*_command(), *args], env, str(self.folder), statuses)

    def ceteris(self, *args: str) -> Program:
        return self._here([self.ceteris_program, *args])

    def python(self, *args: str) -> Program:
        return self._here([sys.executable, *args])

    def collect_env(self) -> Program:
        return self._here([self.torch, "-m", "torch.utils.collect_env"])

    def _here(self, argv: Sequence[str]) -> Program:
        return Program(argv, {"PYTHONPATH": str(ROOT)}, cwd=str(self.folder))

    def two_runs(self) -> None:
        """Leaves run-A and run-B in the store."""
        for name in ("run-A", "run-B"):
            wall(self.fingerprint("run", "--name", name, "--", "true"))


def _command() -> list[str]:
    """As its users start it: the installed script where there is one."""
    script = Path(sys.executable).with_name("fingerprint")
    return [str(script)] if script.exists() else [sys.executable, "-m", "fingerprint"]
