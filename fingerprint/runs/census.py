"""What runs in the command's tree: sections about its processes, read while they live."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from fingerprint.runs.readers import Reader, rest_of, soonest
from fingerprint.runs.timetable import Timetable
from fingerprint.snapshot import Job, Key, Reading
from probes.kit.engines import engine_of
from probes.kit.probe import Target

TREE_SECONDS = 0.25
MOST_UNANSWERED = 3  # a busy host may be late once
READING_SECONDS = 3.0
STARTED_SECONDS = 0.5  # a chain of programs that become one another is over by then
LAST_SECONDS = 1.5  # for servers at the end of a run, of which each that answers does so within a second
MOST_ENVIRONMENTS = 8  # of one run: a build makes one for each of its packages
MOST = 256  # processes in one reading, in the tree's order; a build starts thousands
_PROCESSES = f"more than {MOST} processes ran at once: the first of the tree were read, and no others"
_ENVIRONMENTS = f"more than {MOST_ENVIRONMENTS} Python environments were at work: the first were read, and no others"


Answering = Literal["answers", "loads", "is mute"]


class Roots(NamedTuple):
    """Which processes a run is about: each with all below it.

    began    when that began, on the monotonic clock
    alive    whether one of them still lives
    ports    where they are to listen, as far as that is known
    started  whether they had started long before, so that none is about to become another program
    """

    targets: tuple[Target, ...]
    began: float
    alive: Callable[[], bool]
    ports: frozenset[int] = frozenset()
    started: bool = False


class Areas(NamedTuple):
    """What is read: of each process, of each environment that some process runs in, and of each server once it serves.

    environment_seconds: for those that are due at once; a command that ends meanwhile is held up for as long at most.
    serving_seconds: likewise, of each server.
    """

    process: Sequence[str]
    environment: Sequence[str] = ()
    environment_seconds: float = 5.0
    serving: Sequence[str] = ()
    serving_seconds: float = 4.0


class Telling(NamedTuple):
    """What a reading tells of its process. passing: that the program is known to become another. environment: which
    one it runs in; None: in none. gone: of a reading of an environment, that its process had ended. server: of one of a
    server, whether it answered."""

    passing: Callable[[Key, Reading], bool] = lambda _key, _reading: False
    environment: Callable[[Key, Reading], Hashable] = lambda _key, _reading: None
    gone: Callable[[Key, Reading], bool] = lambda _key, _reading: False
    server: Callable[[Key, Reading], Answering] = lambda _key, _reading: "is mute"


TELLING_NOTHING = Telling()


class Writing(NamedTuple):
    """Where it goes: a section that counts, that what had one name has another, what was left out, and each reading of
    a server."""

    section: Callable[[Key, Reading], None]
    renamed: Callable[[str, str], None] = lambda _was, _name: None
    left_out: Callable[[str], None] = lambda _what: None
    served: Callable[[Key, Reading], None] = lambda _key, _reading: None


class Moments(NamedTuple):
    """readings: of everything. looks: at who is there; of newcomers alone."""

    readings: Timetable
    looks: Timetable


class Census:
    """Reads `areas` of the roots and their descendants at each moment, and writes what counts.

    A section of a root itself counts if a root still lived when it was finished; that of a descendant if the same
    process was there at two readings. A first one, which may be of a program that becomes another (env, taskset, a
    start script), counts if the next finds the same; that of a program known to become another never does, since on a
    busy machine it may wait long for its turn. Only what differs from the last is written.

    The environment of a process is read once a reading of it counts, unless that of another process is the same; and
    again when everything is. A server is asked when it is due and not before, again while it loads, and at the
    end where it answered before.
    """

    def __init__(
        self,
        roots: Roots,
        areas: Areas,
        reader: Reader,
        moments: Moments,
        write: Writing,
        telling: Telling = TELLING_NOTHING,
    ) -> None:
        self._of = roots
        self._roots = roots.targets
        self._areas = areas
        self._reader = reader
        self._moments = moments
        self._write = write
        self._telling = telling
        self._is_due = False
        self._servers_due = False
        self._loading: set[Key] = set()
        self._answering: set[Key] = set()
        self._environments_due: dict[Hashable, Target] = {}
        self._environments_begun: dict[Hashable, Target] = {}
        self._asked: Mapping[Key, Target] = {}
        self._held: dict[Key, tuple[Target, Reading]] = {}
        self._written: dict[Key, str] = {}
        self._found: dict[Key, tuple[Target, str]] = {}
        self._begun: float | None = None
        self._names: dict[int, str] = {}
        self._unanswered: Counter[Target] = Counter()
        self._told: set[str] = set()

    @property
    def ports(self) -> frozenset[int]:
        """Where those listen whose names tell it."""
        return frozenset(told.port for told in map(engine_of, self._names.values()) if told and told.port)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the roots."""
        return tuple(root.pid for root in self._roots)

    def be_due(self) -> None:
        """Reads everything at the next step, servers and the environments of who still lives included."""
        self._is_due = True
        self._servers_due = bool(self._areas.serving)
        begun = self._environments_begun.items()
        self._environments_due.update({key: target for key, target in begun if target.pid in self._names})

    def fileno(self) -> int | None:
        return self._reader.fileno() if self._reader.busy else None

    def timeout(self, now: float) -> float | None:
        due = min(timetable.next for timetable in self._moments) - now
        return soonest(0 if self._is_due and not self._reader.busy else due, self._reader.timeout())

    def step(self, now: float) -> None:
        if self._reader.busy:
            self._take(self._reader.step(), now)
        looks = self._moments.looks.take(now)
        self._is_due = bool(self._moments.readings.take(now)) or self._is_due
        if (self._is_due or looks) and not self._reader.busy:
            self._begin(now, newcomers_alone=not self._is_due)
            self._servers_due = self._servers_due or bool(self._loading)
        if self._environments_due and not self._reader.busy:
            self._begin_environments(now)
        if self._servers_due and not self._reader.busy:
            self._take(self._begin_servers(), now)

    def finish(self) -> None:
        """After the command's end: the reader is idle again. What its environment holds is still true."""
        self._take_rest()
        if (self._servers_due or self._answering) and self._of.alive():
            self._take_rest(self._begin_servers(at_the_end=True))

    def _take_rest(self, finished: Sequence[tuple[Key, Reading]] = ()) -> None:
        for key, reading in chain(finished, rest_of(self._reader)):
            if self._is_of_environment(key):
                self._take_environment(key, reading)
            elif key.area in self._areas.serving:
                self._take_server(key, reading)

    def _begin(self, now: float, *, newcomers_alone: bool) -> None:
        known = frozenset(self._names.items())
        targets = self._targets(now)
        if self._is_late(now):
            self._confirm(frozenset(targets))
        wanted = [target for target in targets if not newcomers_alone or (target.pid, target.name) not in known]
        self._is_due = False
        if wanted[MOST:]:
            self._tell_once(_PROCESSES)
        jobs = [Job(area, target) for target in wanted[:MOST] for area in self._areas.process]
        if jobs:
            self._asked = {job.key: job.target for job in jobs}
            self._take(self._reader.begin(jobs, READING_SECONDS), now)

    def _begin_environments(self, now: float) -> None:
        self._environments_begun.update(self._environments_due)
        targets = [Target(self._names.get(pid, name), pid) for name, pid in self._environments_due.values()]
        jobs = [Job(area, target) for target in targets for area in self._areas.environment]
        self._environments_due.clear()
        self._take(self._reader.begin(jobs, self._areas.environment_seconds), now)

    def _begin_servers(self, *, at_the_end: bool = False) -> Sequence[tuple[Key, Reading]]:
        """Those that are called so; where none is, the roots may be some all the same. at_the_end: who answered before,
        unless all are due."""
        again = at_the_end and not self._servers_due
        self._servers_due = False
        named = [Target(name, pid) for pid, name in self._names.items() if (told := engine_of(name)) and not told.part]
        due = [Job(area, target) for target in named or self._roots for area in self._areas.serving]
        jobs = [job for job in due if not again or job.key in self._answering]
        return self._reader.begin(jobs, LAST_SECONDS if at_the_end else self._areas.serving_seconds * len(jobs))

    def _targets(self, now: float) -> tuple[Target, ...]:
        """The trees, or what is known of them. At first sight there is no more than the command."""
        first = self._begun is None
        self._begun = now if self._begun is None else self._begun
        found = self._roots if first and not self._of.started else self._trees()
        for target in found:
            self._note_name(target)
        self._names = {target.pid: target.name for target in found}
        return found

    def _trees(self) -> tuple[Target, ...]:
        """A tree that hung is not asked for for ever, as each time may leave a process behind."""
        found = {root.pid: root for root in self._roots}
        for root in self._roots:
            members = self._reader.tree(root, TREE_SECONDS) if self._unanswered[root] < MOST_UNANSWERED else ()
            self._unanswered[root] += not members
            for member in members:
                found.setdefault(member.pid, member)
        return tuple(found.values())

    def _note_name(self, target: Target) -> None:
        """An engine's process tells what it is when it has been started for a while."""
        was = self._names.get(target.pid, target.name)
        if not self._is_numbered(was) or self._is_numbered(target.name):
            return
        keys = [key for key in self._written if key.target == was]
        for key in keys:
            self._written[Key(key.area, target.name)] = self._written.pop(key)
        if keys:
            self._write.renamed(was, target.name)

    def _is_numbered(self, name: str) -> bool:
        """As one of whom no more is known than its program: ROOT.PROGRAM.N."""
        return name.rpartition(".")[2].isdecimal() and any(name.startswith(f"{root.name}.") for root in self._roots)

    def _take(self, finished: Sequence[tuple[Key, Reading]], now: float) -> None:
        for key, reading in finished:
            if self._is_of_environment(key):
                self._take_environment(key, reading)
                continue
            if key.area in self._areas.serving:
                self._take_server(key, reading)
                continue
            if reading.outcome != "ok":
                continue
            target = self._asked[key]
            again = self._is_found_again(key, target, reading)
            if target not in self._roots:
                self._held[key] = (target, reading)
                counts = again
            else:
                counts = self._of.alive() and (again or key in self._written or self._is_late(now))
            if counts:
                self._put(key, target, reading)

    def _take_server(self, key: Key, reading: Reading) -> None:
        self._loading.discard(key)
        if reading.outcome != "ok":
            return
        answering = self._telling.server(key, reading)
        if answering == "loads":
            self._loading.add(key)
        if answering == "answers":
            self._answering.add(key)
        digest = reading.lasting.digest if reading.lasting else ""
        if self._written.get(key) != digest:
            self._written[key] = digest
            self._write.section(key, reading)
        self._write.served(key, reading)

    def _is_of_environment(self, key: Key) -> bool:
        return key.area in self._areas.environment

    def _take_environment(self, key: Key, reading: Reading) -> None:
        if reading.outcome != "ok" or (key in self._written and self._telling.gone(key, reading)):
            return
        digest = reading.lasting.digest if reading.lasting else ""
        if self._written.get(key) != digest:
            self._written[key] = digest
            self._write.section(key, reading)

    def _is_found_again(self, key: Key, target: Target, reading: Reading) -> bool:
        found = target, reading.lasting.digest if reading.lasting else ""
        before, self._found[key] = self._found.get(key), found
        return found == before and not self._telling.passing(key, reading)

    def _is_late(self, now: float) -> bool:
        return self._of.started or (self._begun is not None and now - self._begun >= STARTED_SECONDS)

    def _confirm(self, there: frozenset[Target]) -> None:
        for key, (target, reading) in self._held.items():
            if target in there:
                self._put(key, target, reading)
        self._held.clear()

    def _put(self, key: Key, target: Target, reading: Reading) -> None:
        digest = reading.lasting.digest if reading.lasting else ""
        if self._written.get(key) != digest:
            self._written[key] = digest
            self._write.section(key, reading)
            self._note_environment(key, target, reading)

    def _note_environment(self, key: Key, target: Target, reading: Reading) -> None:
        if not self._areas.environment or _ENVIRONMENTS in self._told:
            return
        environment = self._telling.environment(key, reading)
        known = self._environments_begun.keys() | self._environments_due.keys()
        if environment is None or environment in known:
            return
        if len(known) < MOST_ENVIRONMENTS:
            self._environments_due[environment] = target
        else:
            self._tell_once(_ENVIRONMENTS)

    def _tell_once(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._write.left_out(what)
