"""What a worker of the reader service answers: it may read what its asker may not."""

import os
import platform

from fingerprint.reader.wire import Hello
from fingerprint.reader.worker import Answers
from fingerprint.snapshot import Provenance
from fingerprint.version import __version__
from probes.kit.probe import Target

LONGEST_NAME = 512
LARGEST_PID = 1 << 22  # PID_MAX_LIMIT of linux/threads.h


class Guarded(Answers):
    """Answers whoever is not trusted with what is read."""

    def greeting(self) -> Hello:
        provenance = Provenance(
            __version__, platform.python_version(), os.geteuid(), self.host.redactor.key_id
        )  # fmt: skip
        return Hello(os.getpid(), provenance)

    def objection(self, area: str, target: Target) -> str:
        if area not in self.probes:
            return f"this reader reads no such area: there are {', '.join(sorted(self.probes))}"
        name, pid = target
        if not 0 <= pid <= LARGEST_PID:
            return f"this is no process id: they go from 1 to {LARGEST_PID}, and the host is 0"
        if "/" in name or not name.isprintable() or len(name) > LONGEST_NAME:
            return f"a target's name has no slash, nothing unprintable and at most {LONGEST_NAME} characters"
        if bool(name) != bool(pid):
            return "a target has a name and a process id, and the host neither"
        return ""

    def words(self, error: Exception) -> str:
        """By its place: its own words may hold what it stumbled over."""
        import traceback

        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {at.filename.rpartition('/')[2]}, line {at.lineno}"
