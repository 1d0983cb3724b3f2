"""A run from its opening to its end: before, the command, during, after.

Whatever goes wrong in fingerprint becomes a trouble record; the command is started, passed its
signals and waited for all the same.
"""

import signal
import time
from typing import Literal, NamedTuple

from fingerprint.runs.beside import Beside, Rates
from fingerprint.runs.census import Roots
from fingerprint.runs.measures import exit_status_of, metrics_of
from fingerprint.runs.opener import opener
from fingerprint.runs.plan import NotRun, Plan
from fingerprint.runs.pump import Pump, Resizing
from fingerprint.runs.record import Closed, Measured, Opened, Passed
from fingerprint.runs.recording import Means, Recording
from fingerprint.runs.relay import Relay
from fingerprint.runs.watch import watch
from fingerprint.runs.wrap import Command, Ended, Start, own_peak, printable, start
from fingerprint.version import __version__
from probes.kit.engines import part_of
from probes.kit.probe import MAIN, Target

PEAK = "usage/main/hwm"  # kB
PUMP_SECONDS = 5.0


class Finished(NamedTuple):
    """ended: for `wrap.leave`. output: the end of what the streams carried. told: asked to end by this signal.
    unwritten: why records are missing that the journal did not take."""

    ended: Ended
    output: bytes = b""
    told: int = 0
    unwritten: str = ""


def run(plan: Plan, means: Means) -> Finished:
    """Runs the plan's command once. Whatever the command does, this returns when it has ended and is recorded.

    Raises NotRun; nothing else until the command was started.
    """
    session = Session(plan, means)
    try:
        with Relay() as relay:
            return session.conduct(relay)
    except Exception as error:
        if session.started:
            raise
        raise NotRun(error) from error


class Session:
    """One run while it goes on."""

    _relay: Relay

    def __init__(self, plan: Plan, means: Means) -> None:
        self.started = False
        self._plan = plan
        self._means = means
        self._recording = Recording(means)

    def conduct(self, relay: Relay) -> Finished:
        self._relay = relay
        recording = self._recording
        recording.open(self._plan.name, self._plan.workload, self._opened)
        self._canary("before")
        recording.snap("before")
        ended, output = self._command()
        told = self._relay.told
        if ended.started:
            recording.snap("after")
            self._canary("after")
        recording.tell_hung()
        recording.write(Closed(time.time_ns(), ended.how, ended.status, ended.detail, interrupted=bool(told)))
        return Finished(ended, output, told, recording.unwritten)

    def _canary(self, moment: Literal["before", "after"]) -> None:
        """Outside what the snapshots span: what was counted from one to the other is the command's."""
        if self._plan.canary:
            from fingerprint.canary.measure import Serving

            plan = self._plan
            self._recording.canary(moment, Serving(plan.argv, plan.env, plan.cwd), self._is_told_to_end)

    def _is_told_to_end(self) -> bool:
        self._relay.step(time.monotonic())
        return self._relay.told != 0

    def _command(self) -> tuple[Ended, bytes]:
        if self._is_told_to_end():
            told = self._relay.told
            return Ended("not started", told, f"{signal.Signals(told).name} came before the command was started"), b""
        attempt, streams = self._recording.attempt, self._plan.streams
        attempt("what the command is given", self._pass)
        pump = attempt("keeping the output", lambda: Pump(streams)) if streams else None
        ended = self._start(pump)
        return ended, attempt("the command's output", lambda: self._output(pump)) or b""

    def _start(self, pump: Pump | None) -> Ended:
        recording = self._recording
        peak = recording.attempt("our own size", own_peak) or 0
        plan = self._plan
        command = start(Start(plan.argv, plan.env, self._relay.inherited, pump.streams if pump else {}))
        self.started = True
        if pump:
            pump.started()
        if isinstance(command, Ended):
            recording.write(Measured(time.time_ns(), exit_status_of(command)))
            return command
        ended = recording.attempt("what is done beside the command", lambda: self._accompany(command, pump, peak))
        return ended or watch(command, self._relay, [], recording.trouble)

    def _accompany(self, command: Command, pump: Pump | None, peak: int) -> Ended:
        beside = Beside(self._recording, self._roots(command), Rates(self._plan.first_minute_hz, self._plan.then_hz))
        resizing = [Resizing(pump, self._relay, command)] if pump else []
        ended = watch(command, self._relay, [*beside.duties, *resizing], self._recording.trouble)
        beside.finish()
        highest = beside.highest(PEAK)
        for metric in metrics_of(ended, peak, None if highest is None else int(highest) * 1024):
            self._recording.write(Measured(time.time_ns(), metric))
        beside.save_last()
        return ended

    def _roots(self, command: Command) -> Roots:
        part = part_of(self._plan.argv, self._plan.env)
        ports = frozenset({part.port} if part and part.port else ())
        return Roots((Target(MAIN, command.pid),), command.began, lambda: command.poll() is None, ports)

    def _pass(self) -> None:
        reading = self._means.given()
        if reading.outcome == "ok":
            self._recording.write(Passed(time.time_ns(), "process", reading))
        elif reading.outcome == "failed":
            self._recording.trouble(f"what the command is given: {reading.detail}")

    def _output(self, pump: Pump | None) -> bytes:
        if pump is None:
            return b""
        if not pump.drain(PUMP_SECONDS):
            self._recording.trouble(
                f"the command's output was not taken within {PUMP_SECONDS:g} s: its end is missing here"
            )
        output = pump.output()
        pump.close()
        return output

    def _opened(self, attempt: int) -> Opened:
        plan, host = self._plan, self._means.host
        argv = host.redactor.arguments([printable(word) for word in plan.argv])
        return Opened(
            time.time_ns(),
            plan.name,
            attempt,
            plan.benchmark,
            plan.host,
            opener(host),
            argv,
            printable(plan.cwd),
            plan.vary,
            __version__,
        )
