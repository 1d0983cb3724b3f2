"""The service from its start to its end: what it is made of, signals, the service manager."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from fingerprint.reader import Reader
from fingerprint.reader.remote import Connections
from fingerprint.redaction_key import redaction_key
from fingerprint.service import notify
from fingerprint.service.api.listening import Servers, unix_socket
from fingerprint.service.api.listening import serve as listen
from fingerprint.service.client import samples_beside
from fingerprint.service.daemon import Service
from fingerprint.service.folder import OwnFolder
from fingerprint.service.pulse import VERSION, Pulse
from fingerprint.service.reading import REDACTION_CHANGED
from fingerprint.service.samples import Samples
from fingerprint.service.seldom import Seldom
from fingerprint.settings import Service as ServiceSettings
from fingerprint.settings import Settings, SettingsError, load
from fingerprint.store import default_path
from fingerprint.trouble import Trouble
from probes.kit.host import Host
from probes.kit.redact import Redactor

STEP_SECONDS = 1.0
GIVE_UP_SECONDS, API_SECONDS = 1.5, 1.0
"""How long readers are waited for at the end, and then answers of the API. A unit has 4 s for all of it."""
API_PULSE_SECONDS, READER_PULSE_SECONDS = 5.0, 10.0
"""Between two questions to the API, and to the reader: it starts a process for each."""
AGAIN_SECONDS = 5.0
"""From one start of a reader of one's own to the next, as of the units: one that cannot begin costs little."""
READERS_INPUT = 0
_OF_THE_MANAGER = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")  # which waits for one of us
READER_SECONDS, READER_ENDS_SECONDS = 10.0, 0.5
"""Within which a reader of one's own must have begun to listen, and within which it must have ended."""


def serve(environ: Mapping[str, str]) -> None:
    """Until SIGTERM or SIGINT. Raises Trouble where it cannot begin."""
    settings = load(environ)
    with ExitStack() as held:
        signals = held.enter_context(_signals())
        own = held.enter_context(closing(_OwnReader())) if _needs_one(settings, environ) else None
        readers = _Readers(_host(settings, environ), settings, own.path if own else settings.service.reader)
        reader = held.enter_context(closing(Pulse(readers.path, READER_PULSE_SECONDS)))
        service = Service(
            settings, _host(settings, environ), readers, default_path(environ), lambda: reader.silent_since
        )
        service.store()  # what is wrong with it is told now
        servers = listen(service, settings)
        held.callback(servers.stop, API_SECONDS)
        api = held.enter_context(closing(Pulse(servers.addresses[0], API_PULSE_SECONDS, VERSION)))
        held.callback(service.close)
        if settings.service.socket:
            held.enter_context(closing(_samples(service, settings.service)))
        service.schedule.start()
        held.callback(_later, GIVE_UP_SECONDS, lambda: readers.give_up("the service ended, and nobody waited for this"))
        held.callback(notify.stopping)
        notify.ready(service.health().says)
        journal = Seldom()
        for told in _each_second(signals):
            if signal.SIGHUP in told:
                _reload(service, environ)
            if own:
                own.tend()
            reader.step()
            api.step()
            _watch(service, servers, api, journal)


def _samples(service: Service, asked: ServiceSettings) -> Samples:
    """For runs of the command line, beside the API."""
    return Samples(unix_socket(Path(samples_beside(asked.socket)), asked.group), service.for_others)


def _later(seconds: float, act: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


def _each_second(signals: socket.socket) -> Iterator[set[int]]:
    """Which signals came, until one that ends it."""
    while not (told := _told(signals)) & {signal.SIGTERM, signal.SIGINT}:
        yield told


def _watch(service: Service, servers: Servers, api: Pulse, journal: Seldom) -> None:
    """Whatever else hangs: that it is alive, how it fares, and whether a clock was set."""
    service.tend()
    health = service.health()
    notify.status(health.says)
    if health.reader:  # beside whatever else was told this minute
        journal.say("reader", f"fingerprintd: {health.reader}")
    if not health.ok:
        journal.say("health", f"fingerprintd: {health.says}")
    if api.silent_since:
        journal.say("api", f"fingerprintd: the API has answered nobody since {api.silent_since}")
    elif servers.alive():
        notify.alive()


def _reload(service: Service, environ: Mapping[str, str]) -> None:
    """A configuration that cannot be used changes nothing."""
    notify.reloading()
    try:
        settings, in_force = load(environ), service.settings.redaction
        service.settings = replace(settings, redaction=in_force)
        says = "fingerprintd: read its configuration again; sockets and areas are those of its start"
        if settings.redaction != in_force:
            says += f", and {REDACTION_CHANGED}"
    except SettingsError as error:
        says = f"fingerprintd: goes on with the configuration that it had: {error}"
    print(says, file=sys.stderr, flush=True)  # noqa: T201
    notify.ready(service.health().says)


def _host(settings: Settings, environ: Mapping[str, str]) -> Host:
    """What this process itself looks at is who serves."""
    return Host(redactor=Redactor(redaction_key(settings, environ).secret, settings.redaction.allow))


class _Readers:
    """Makes readers, all by the reader service."""

    def __init__(self, host: Host, settings: Settings, path: str) -> None:
        from fingerprint.areas import probes_of
        from probes.kit.probe import areas

        self._host, self.path, self._connections = host, path, Connections(path)
        self._probes = probes_of([area for area in areas() if area not in settings.areas.skip], settings)

    def __call__(self, sample: bool) -> Reader:
        probes = {area: probe.at_samples for area, probe in self._probes.items()} if sample else self._probes
        return Reader(self._host, probes, self._connections.workers(sample=sample))

    def give_up(self, why: str) -> None:
        self._connections.give_up(why)


class _OwnReader:
    """A reader of our own, where no reader service listens. One that ended is started again."""

    def __init__(self) -> None:
        """Raises Trouble where it does not begin."""
        self._folder = OwnFolder()
        self.path = str(self._folder.path / "reader.sock")
        self._theirs, self._ours = os.pipe()  # it ends with us, however we end
        self._pid = self._started()
        deadline = time.monotonic() + READER_SECONDS
        while not _listens(self.path):
            if self._has_ended() or time.monotonic() >= deadline:
                self.close()
                raise Trouble("the reader of its own did not begin: `fingerprintd reader` says why")
            time.sleep(0.02)

    def tend(self) -> None:
        if self._has_ended() and time.monotonic() >= self._began + AGAIN_SECONDS:
            self._pid = self._started()

    def close(self) -> None:
        if not self._has_ended():
            os.kill(self._pid, signal.SIGTERM)
            if not self._has_ended_within(READER_ENDS_SECONDS):
                os.kill(self._pid, signal.SIGKILL)  # it is stopped, or stuck: nobody waits for that
        os.close(self._theirs)
        os.close(self._ours)
        self._folder.close()

    def _started(self) -> int:
        self._began = time.monotonic()
        command = [sys.executable, "-m", "fingerprint.service", "reader", self.path]
        bare = {name: value for name, value in os.environ.items() if name not in _OF_THE_MANAGER}
        return os.posix_spawn(
            sys.executable, command, bare, file_actions=[(os.POSIX_SPAWN_DUP2, self._theirs, READERS_INPUT)]
        )

    def _has_ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not (ended := self._has_ended()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return ended

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True


def _needs_one(settings: Settings, environ: Mapping[str, str]) -> bool:
    """Under a service manager it is a unit's to be there: one of our own would have none of its rights."""
    return not environ.get("NOTIFY_SOCKET") and not _listens(settings.service.reader)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as to:
        to.settimeout(1)
        try:
            to.connect(path)
        except OSError:
            return False
    return True


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Readable with a byte for each that came."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        ours.settimeout(STEP_SECONDS)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(-1)


def _told(signals: socket.socket) -> set[int]:
    """After a second at most."""
    try:
        return set(signals.recv(64))
    except TimeoutError:
        return set()
