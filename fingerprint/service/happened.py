"""What happened, as events of the store."""

from fingerprint.ids import new_id
from fingerprint.service.changes import Change
from fingerprint.service.clocks import Clocks, Jump, clocks
from fingerprint.service.containers import Restart
from fingerprint.service.troubles import Trouble
from fingerprint.service.watching import Seen
from fingerprint.store import Event
from fingerprint.store.events import EventKind
from probes.kit.paths import FactPath

BOOT = FactPath(("kernel", "boot_id"))


def of_change(host: str, change: Change) -> Event:
    if change.path == BOOT:
        booted = min(max(change.since, booted_at(clocks())), change.until)
        return Event(new_id(), host, booted, booted, "boot", str(BOOT), change.was, change.is_, "the host was started")
    return Event(new_id(), host, change.since, change.until, "state", str(change.path), change.was, change.is_)


def booted_at(now: Clocks) -> int:
    """ns since 1970."""
    return int((now.wall - now.boot) * 1e9)


def of_restart(host: str, restart: Restart, run: str) -> Event:
    says = f"the container of {restart.name} was started anew"
    times = (restart.since, restart.until)
    return Event(new_id(), host, *times, "container start", restart.name, restart.was, restart.is_, says, run)


def of_trouble(host: str, trouble: Trouble) -> Event:
    kind: EventKind = "driver load" if trouble.kind == "driver load" else "kernel"
    says = f"{trouble.path} grew by {trouble.by}"
    return Event(new_id(), host, trouble.since, trouble.until, kind, trouble.kind, None, trouble.by, says)


def of_jump(host: str, jump: Jump, at: int) -> Event:
    seconds = f"{abs(jump.seconds):.0f} s"
    way = "back" if jump.seconds < 0 else "ahead"
    says = f"the host slept for {seconds}" if jump.kind == "suspend" else f"the clock was set {way} by {seconds}"
    return Event(new_id(), host, at, at, jump.kind, "clock", None, round(jump.seconds), says)


def of_server(host: str, seen: Seen, at: int, run: str, *, came: bool) -> Event:
    says = f"{seen.server.name} (pid {seen.server.pid}) {'serves' if came else 'is gone'}"
    return Event(new_id(), host, at, at, "serving", seen.server.name, not came, came, says, run)
