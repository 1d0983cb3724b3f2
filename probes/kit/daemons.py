"""Which of some programs of the host run, of one look at the process table."""

from collections.abc import Mapping, Sequence

from probes.kit.comm import COMM_BYTES
from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host

KTHREADD = "kthreadd"  # pid 2, and seen only where the host's processes are


class Running:
    """Pids of the programs, by the name that the kernel keeps of each."""

    def __init__(self, host: Host, programs: Sequence[str]) -> None:
        self._host = host
        self._kept = [program[:COMM_BYTES] for program in programs]
        self._pids = host.pids(KTHREADD, *dict.fromkeys(self._kept))

    def pid(self, program: str) -> Seen[int | None]:
        """None where it does not run; a Gap where processes of the host cannot be seen."""
        return then(self._pids, lambda found: self._of(program, found))

    def _of(self, program: str, found: Mapping[str, tuple[int, ...]]) -> Seen[int | None]:
        pids = [pid for pid in found.get(program[:COMM_BYTES], ()) if self._is(program, pid)]
        if pids:
            return min(pids)
        if not found.get(KTHREADD):
            return Gap("not_observable", "the host's processes are not seen from here (a container, or hidepid)")
        return None

    def _is(self, program: str, pid: int) -> bool:
        """Only where the kernel's 15 bytes are not enough."""
        if self._kept.count(program[:COMM_BYTES]) == 1:
            return True
        first = then(self._host.arguments(pid), lambda argv: str(argv[0]).rpartition("/")[2])
        return first == program
