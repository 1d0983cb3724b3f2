"""--wait waits for what settles by itself, and for nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from fingerprint.gate.contract import Check, Verdict
from fingerprint.gate.policy import policy_of
from fingerprint.gate.verdict import Asked, decide
from fingerprint.gate.wait import LONGEST_PAUSE, Clock, wait
from probes.gpu import Gpu, Gpus
from probes.gpu.events import Utilization
from probes.gpu.fabric import Fabric
from probes.gpu.processes import Process
from probes.gpu.thermal import Temperature
from probes.kit.facts import Gap, Map
from tests.gate import ONE, TODAY, snapshot

IDLE = Gpu(power_limit=1, utilization=Utilization(gpu=0))
BUSY = Gpu(power_limit=1, utilization=Utilization(gpu=90), processes=Map({"7": Process(type="compute")}))
LOWERED = Gpu(power_limit=1, power_default_limit=2, utilization=Utilization(gpu=90))
JOINING = Gpu(power_limit=1, fabric=Fabric(state=Gap("settling", "registration with the fabric is in_progress")))


class Waited:
    """A gate over hosts that follow each other; the last one stays."""

    def __init__(self, *hosts: Gpu, seconds: float = 60, policy: str = "") -> None:
        self.pauses: list[float] = []
        self.told: list[tuple[list[str], float]] = []
        self._hosts: Iterator[Gpu] = iter(hosts)
        self._asked = Asked(policies=(policy_of("p.toml", policy.encode()),) if policy else ())
        clock = Clock(lambda: sum(self.pauses), self.pauses.append)
        self.verdict, self.seconds = wait(self._look, self._asked.rules, seconds, self._tell, clock)

    def _look(self) -> Verdict:
        self._last: Gpu = next(self._hosts, getattr(self, "_last", IDLE))
        found: Any = {"gpu": Gpus(gpus=Map({ONE: self._last}))}
        return decide(self._asked, snapshot(found), {}, TODAY)

    def _tell(self, waits: Sequence[Check], waited: float) -> None:
        self.told.append(([check.rule for check in waits], waited))


def test_a_host_that_is_ready_is_not_waited_for() -> None:
    it = Waited(IDLE)
    assert (it.verdict.outcome, it.pauses, it.told) == ("pass", [], [])


def test_a_state_that_settles_is_waited_for_and_said() -> None:
    it = Waited(BUSY, BUSY, IDLE)
    assert it.verdict.outcome == "pass"
    assert len(it.pauses) == 2
    assert [sorted(rules) for rules, _ in it.told] == [["foreign-processes", "gpu-idle"]] * 2


def test_a_state_that_does_not_settle_fails_at_the_end_of_the_time_and_not_after_it() -> None:
    it = Waited(BUSY, seconds=30)
    assert it.verdict.outcome == "fail"
    assert it.seconds == 30
    assert max(it.pauses) <= LONGEST_PAUSE


def test_what_somebody_has_to_set_is_not_waited_for() -> None:
    it = Waited(LOWERED, IDLE)
    assert (it.verdict.outcome, it.pauses) == ("fail", [])


def test_a_gpu_that_joins_the_fabric_is_waited_for_though_nobody_can_tell_yet() -> None:
    it = Waited(JOINING, Gpu(power_limit=1, fabric=Fabric(state="completed")))
    assert it.verdict.outcome == "pass"
    assert it.told[0][0] == ["fabric"]


def test_a_policys_bound_on_what_moves_by_itself_is_waited_for_and_one_on_a_setting_is_not() -> None:
    hot, cool = (replace(IDLE, temperature=Temperature(gpu=degrees)) for degrees in (80, 40))
    bound = '[[expect]]\nfact = "gpu/*/temperature/gpu"\nmax = 60\n'
    it = Waited(hot, cool, policy=bound)
    assert (it.verdict.outcome, len(it.pauses)) == ("pass", 1)
    named = '[[expect]]\nfact = "gpu/*/name"\nequals = "A"\n'
    assert Waited(hot, cool, policy=bound + named).pauses == []
