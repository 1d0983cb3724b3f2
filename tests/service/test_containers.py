"""That a server's container was started anew, from what its runs read of it."""

from fingerprint.runs.record import AnyRecord, Closed, Opened, Opener, Process
from fingerprint.service.clocks import Clocks
from fingerprint.service.containers import Containers, Restart
from fingerprint.service.happened import booted_at
from fingerprint.snapshot import reading_of
from probes.container.sections import Container
from probes.kit.facts import Gap


def run(minute: int, started: int | Gap, runtime: str | Gap = "docker") -> list[AnyRecord]:
    """Of one minute."""
    at = minute * 60 * 10**9
    reading = reading_of(Container(runtime=runtime, started=started))
    opened = Opened(at, "vllm-8000", 1, "b", "host", Opener(1, 1, "boot"), service=True)
    return [opened, Process(at, "container", "main", reading), Closed(at + 60 * 10**9, "server ran on")]


def taken(*runs: list[AnyRecord]) -> list[Restart | None]:
    containers = Containers()
    return [containers.take("vllm-8000", one) for one in runs]


def test_another_start_is_told_between_the_two_runs() -> None:
    minute = 60 * 10**9
    assert taken(run(1, 500), run(2, 500), run(7, 900)) == [
        None,
        None,
        Restart("vllm-8000", 500, 900, 3 * minute, 7 * minute),
    ]


def test_what_runs_in_no_container_or_could_not_be_read_is_no_start() -> None:
    assert taken(run(1, 500, Gap("absent")), run(2, 900, Gap("absent"))) == [None, None]
    assert taken(run(1, 500), run(2, Gap("denied")), run(3, 500)) == [None, None, None]


def test_a_boot_is_told_to_the_second_by_the_kernels_own_clock() -> None:
    assert booted_at(Clocks(wall=1_760_000_000.0, awake=50.0, boot=100.0)) == 1_759_999_900 * 10**9
