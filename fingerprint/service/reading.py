"""The reader as a service: it may read what others may not, and tells it redacted to who may ask.

    asker                                             reader service, at a Unix socket
                                                      {"type":"hello","pid":7,"provenance":{...}}
    {"type":"ask","jobs":[["cpu","",0],
      ["process","main",42]],"sample":false}          {"type":"begin","of":["cpu",""]}
                                                      {"type":"read","of":["cpu",""],"ms":3.1,"section":{...}}
                                                      {"type":"begin","of":["process","main"]}
                                                      {"type":"failed","of":["process","main"],"ms":1.0,"why":"..."}
    {"type":"ask tree","name":"main","pid":42}        {"type":"tree","targets":[["main",42],["main.sh.1",43]]}
                                                      {"type":"refused","why":"..."}, and the connection ends

One message a line, as between a command and its own reader (fingerprint/reader/wire.py). An area, the name of a target
and a pid is all that can be asked: of an area that is not known, a name with a slash or a number that is no pid the
answer is `failed`, in words, and nothing is read. What is no question is refused.

Each connection has a process of its own, which ends with it: a peer that goes away, or shuts down its writing, kills
it. What cannot be killed (state D) is left behind, named in the journal and counted. The kernel tells who a peer is
(SO_PEERCRED); one thread accepts, forks and watches, and reads nothing of what peers send. Without a service manager
that ends all processes of a service, the workers of a killed one serve on until their peers hang up.
"""

import gc
import os
import pwd
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from fingerprint.areas import probes_of
from fingerprint.reader.wire import Refused, encode
from fingerprint.reader.worker import Probes
from fingerprint.redaction_key import redaction_key
from fingerprint.service import notify
from fingerprint.service.guarded import Guarded
from fingerprint.service.seldom import Seldom
from fingerprint.service.workers import Workers
from fingerprint.settings import Settings
from fingerprint.trouble import Trouble
from probes.kit.host import Host
from probes.kit.probe import areas
from probes.kit.redact import Redactor

MOST = 40
REDACTION_CHANGED = (
    "what [redaction] says now takes a restart, so that no run has a value in both forms: "
    "systemctl restart fingerprint-reader fingerprint"
)
GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: struct ucred of unix(7)

Means = tuple[Host, Probes]


def serve(
    path: str,
    host: Host,
    probes: Probes,
    *,
    allowed_uids: Collection[int],
    most: int = MOST,
    again: Callable[[], Means] | None = None,
    held_by: int | None = None,
) -> None:
    """Answers root and `allowed_uids` until SIGTERM or SIGINT, `most` at a time. Not beside other threads.

    again: what is read with after SIGHUP; connections are ended, and who comes back is answered anew.
    held_by: a pipe's end for reading: with the last who can write there it ends, too.
    Raises Trouble where it cannot listen at `path`.
    """
    gc.collect()
    gc.freeze()  # workers share what there is now
    with _listening(path) as listening, _signals() as signals:
        _Service(listening, signals, (host, probes), {0, *allowed_uids}, most, again).run(held_by)


class _Service:
    def __init__(
        self,
        listening: socket.socket,
        signals: socket.socket,
        means: Means,
        allowed: Collection[int],
        most: int,
        again: Callable[[], Means] | None,
    ) -> None:
        self._listening, self._signals = listening, signals
        self._answers = Guarded(*means)
        self._allowed, self._most, self._again = allowed, most, again
        self._seldom = Seldom()
        self._workers = Workers(self._seldom)
        self._refused = 0
        self._status = ""
        self._held_by: int | None = None

    def run(self, held_by: int | None) -> None:
        self._held_by = held_by
        notify.ready(self._counted())
        try:
            while self._turn():
                pass
        finally:
            notify.stopping()
            self._workers.end()

    def _turn(self) -> bool:
        """One round of what happens; False when it is to end."""
        due = self._workers.give_up()
        happened = dict(self._poll().poll(min(_milliseconds(due), _milliseconds(_half_of_the_watchdog()))))
        numbers = self._signals.recv(4096) if self._signals.fileno() in happened else b""
        self._workers.reap()
        for descriptor in happened.keys() & self._workers.serving.keys():
            self._workers.hang_up(descriptor)
        if self._listening.fileno() in happened:
            self._accept()
        if signal.SIGHUP in numbers:
            self._reload()
        self._tell()
        return self._held_by not in happened and not {signal.SIGTERM, signal.SIGINT} & set(numbers)

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._listening, select.POLLIN)
        poll.register(self._signals, select.POLLIN)
        for descriptor in (*self._workers.serving, *([] if self._held_by is None else [self._held_by])):
            poll.register(descriptor, GONE)
        return poll

    def _accept(self) -> None:
        with suppress(OSError):  # nobody is left, or who was has gone
            while True:
                peer, _ = self._listening.accept()
                if why := self._objection(_uid_of(peer)):
                    self._refuse(peer, why)
                else:
                    self._admit(peer)

    def _objection(self, uid: int) -> str:
        if uid not in self._allowed:
            return f"user {uid} may not ask this reader; it answers the service fingerprint"
        if len(self._workers.serving) >= self._most:
            return f"all of its {self._most} connections are in use"
        if len(self._workers.stuck) >= self._most:
            return f"{len(self._workers.stuck)} of its processes are stuck in the kernel, and more would be"
        return ""

    def _admit(self, peer: socket.socket) -> None:
        try:
            self._workers.serve(peer, self._answers)
        except OSError as error:
            self._refuse(peer, f"it cannot start a process ({error.strerror})")

    def _refuse(self, peer: socket.socket, why: str) -> None:
        self._refused += 1
        self._seldom.say(why, f"refused a connection: {why}")
        with peer, suppress(OSError):
            peer.setblocking(False)
            peer.sendall(encode(Refused(why)) + b"\n")

    def _reload(self) -> None:
        if self._again is None:
            return
        notify.reloading()
        try:
            self._answers = Guarded(*self._again())
        except Trouble as trouble:
            self._seldom.say("reload", f"{trouble}; what was in force stays so")
        else:
            for descriptor in list(self._workers.serving):
                self._workers.hang_up(descriptor)
        notify.ready(self._counted())

    def _tell(self) -> None:
        notify.alive()
        if (counted := self._counted()) != self._status:
            self._status = counted
            notify.status(counted)

    def _counted(self) -> str:
        serving, stuck = len(self._workers.serving), sorted(self._workers.stuck)
        words = f"{serving} connected, {self._workers.forked} since the start, {self._refused} refused"
        return f"{words}; stuck in the kernel: {' '.join(map(str, stuck))}" if stuck else words


def _milliseconds(seconds: float | None) -> float:
    return 3_600_000 if seconds is None else max(0.0, seconds) * 1000 + 1


def _half_of_the_watchdog() -> float | None:
    within = notify.watchdog_seconds()
    return None if within is None else within / 2


def _uid_of(peer: socket.socket) -> int:
    """As it was when it connected."""
    _, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(uid)


@contextmanager
def _listening(path: str) -> Iterator[socket.socket]:
    """Its owner and his group may connect. What a reader that is gone left there is replaced."""
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.umask(0o117)
        try:
            _make_way(path)
            listening.bind(path)
        except OSError as error:
            raise Trouble(
                f"the reader cannot listen at {path} ({error.strerror or error}): "
                "set service.reader to a path in a folder where it may write"
            ) from None
        finally:
            os.umask(before)
        listening.listen(128)
        listening.setblocking(False)
        try:
            yield listening
        finally:
            with suppress(OSError):
                os.unlink(path)


def _make_way(path: str) -> None:
    if os.path.lexists(path) and not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise Trouble(f"service.reader {path} is there, and is no socket: let it name another place")
    with socket.socket(socket.AF_UNIX) as other:
        try:
            other.connect(path)
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise Trouble(f"another reader listens at {path}: stop it first (systemctl stop fingerprint-reader)")


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Readable with a byte for each signal that came."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(-1)


def run(
    load: Callable[[], Settings],
    environ: Mapping[str, str],
    *,
    path: str = "",
    user: str = "fingerprint",
    held_by: int | None = None,
) -> None:
    """What `fingerprintd reader` does, with the settings as they are loaded now and at each SIGHUP.

    path: where it listens, instead of where the settings say. user: by name, who may ask beside root and whoever runs
    this. held_by: as of `serve`. Raises Trouble.
    """
    settings = load()
    redactor = _redactor(settings, environ)
    host, probes = _means(settings, redactor)
    serve(
        path or settings.service.reader,
        host,
        probes,
        allowed_uids={os.geteuid(), *_uids(user)},
        again=lambda: _again(load(), settings, redactor),
        held_by=held_by,
    )


def _redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    key = redaction_key(settings, environ)
    if key.trouble:
        sys.stderr.write(f"{key.trouble}\n")
    return Redactor(key.secret, settings.redaction.allow)


def _again(settings: Settings, of_the_start: Settings, redactor: Redactor) -> Means:
    """What is redacted stays so: one run would hold a value as a digest before, and in clear after."""
    if settings.redaction != of_the_start.redaction:
        sys.stderr.write(f"{REDACTION_CHANGED}\n")
        sys.stderr.flush()
    return _means(settings, redactor)


def _means(settings: Settings, redactor: Redactor) -> Means:
    host = Host(redactor=redactor, nvml=settings.nvml_options, deep=settings.deep)
    return host, probes_of([area for area in areas() if area not in settings.areas.skip], settings)


def _uids(user: str) -> Iterator[int]:
    """Of a user who need not be there: then the service runs as whoever started it."""
    with suppress(KeyError):
        yield pwd.getpwnam(user).pw_uid
