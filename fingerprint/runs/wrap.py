"""The command as our child: as if it had been started directly.

It keeps our process group, streams, inherited descriptors, signal mask and ignored signals.
posix_spawn(3) would be shorter, but glibc's leaves signals 32 and 33 ignored in the child (2.36, spawni.c).
"""

import contextlib
import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import msgspec

from fingerprint.runs.record import Ending

NOT_EXECUTABLE = 126
NOT_FOUND = 127

# Python ignores these at its start (Modules/signalmodule.c), and an ignored signal is inherited over exec.
# What they were before cannot be known any more; a shell gives the default.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class Ended(msgspec.Struct, frozen=True):
    """How the command ended. status: exit code, or the signal where it was killed.

    wall_s   seconds from exec to exit
    cpu_s    user and system seconds of the command and of the descendants it waited for
    max_rss  bytes: ru_maxrss, the largest process among these, never less than the starter's own size
    """

    how: Ending
    status: int
    detail: str = ""
    wall_s: float = 0
    cpu_s: float = 0
    max_rss: int = 0

    @property
    def started(self) -> bool:
        return self.how in ("exited", "killed")

    @property
    def exit_status(self) -> int:
        """As env(1) and the shell give it: the command's, 126, 127, or 128 + the signal."""
        return self.status if self.how in ("exited", "not found", "not executable") else 128 + self.status


class Command:
    """A started command. stopped: the signal that stopped it, until it is seen to run or end."""

    def __init__(self, pid: int, began: float) -> None:
        self.pid = pid
        self.began = began
        self.stopped = 0
        self._ended: Ended | None = None

    def poll(self) -> Ended | None:
        """None while it lives. The pid is ours until then: signals go to nobody else."""
        if self._ended is None:
            self._ended = self._wait()
        return self._ended

    def _wait(self) -> Ended | None:
        pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if pid == 0:
            return None
        if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            self.stopped = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else 0
            return None
        wall = time.monotonic() - self.began
        cpu = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status):
            return Ended("killed", os.WTERMSIG(status), "", wall, cpu, usage.ru_maxrss * 1024)
        return Ended("exited", os.WEXITSTATUS(status), "", wall, cpu, usage.ru_maxrss * 1024)

    def send(self, number: int) -> None:
        """Sends a signal; one that may not be sent (the command changed its user) is no error of ours."""
        if self._ended is None:
            with contextlib.suppress(PermissionError):
                os.kill(self.pid, number)

    @property
    def in_our_group(self) -> bool:
        """Whether what is sent to our process group reaches it."""
        try:
            return os.getpgid(self.pid) == os.getpgrp()
        except OSError:
            return False


class Inherited(NamedTuple):
    """What of the signals that fingerprint itself was started with it has changed since, and the command is to have."""

    blocked: frozenset[int] = frozenset()
    ignored: frozenset[int] = frozenset()


class Start(NamedTuple):
    """What exec is given. streams: descriptor -> the one to put in its place."""

    argv: Sequence[str]
    env: Mapping[str, str]
    inherited: Inherited = Inherited()
    streams: Mapping[int, int] = {}


def start(given: Start) -> Command | Ended:
    """Starts the program, found on the PATH of the environment.

    Ended where it was refused: 127 for ENOENT, 126 for anything else, as env(1) decides. Raises OSError
    where no process can be made.
    """
    pid, report = _fork(given)
    with open(report, "rb") as file:
        began, _, refused = file.read().partition(b" ")
    if not refused:  # a signal may end it before it tells when
        return Command(pid, float(began or time.monotonic()))
    os.waitpid(pid, 0)
    return _refused(given, int(refused))


def become(given: Start) -> Ended:
    """Puts the program in our place, where no process can be made for it. Ended where it was refused."""
    _give_signals_back(given.inherited)
    try:
        _exec(list(given.argv), given.env)
    except OSError as error:
        return _refused(given, error.errno or 0)


def _refused(given: Start, number: int) -> Ended:
    why = f"{printable(given.argv[0])}: {os.strerror(number)}"
    if number == errno.ENOENT:
        return Ended("not found", NOT_FOUND, why)
    return Ended("not executable", NOT_EXECUTABLE, why)


def _fork(given: Start) -> tuple[int, int]:
    """The child's pid, and where it reports."""
    report, theirs = os.pipe()
    # Whatever is sent to the group from here on waits until the command has the dispositions it is to have.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _become(given, theirs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(theirs)
    return pid, report


def _become(given: Start, report: int) -> NoReturn:
    """In the child: tells when it execs, and the error where it cannot. exec closes the report."""
    try:
        for old, new in given.streams.items():
            os.dup2(new, old)
        _give_signals_back(given.inherited)
        os.write(report, repr(time.monotonic()).encode())
        _exec(list(given.argv), given.env)
    except OSError as error:
        os.write(report, b" %d" % (error.errno or 0))
    except Exception:  # noqa: BLE001  # what Python will not pass to execve(2)
        os.write(report, b" %d" % errno.EINVAL)
    finally:
        os._exit(NOT_EXECUTABLE)


def _give_signals_back(inherited: Inherited) -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)) or number in _PYTHON_IGNORES:
            signal.signal(number, signal.SIG_IGN if number in inherited.ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, inherited.blocked)


def _exec(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """As execvp(3): the search goes on past what is missing or may not be executed; the latter is told in the end."""
    if not argv[0]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    refusals = [_refusal(path, argv, env) for path in _candidates(argv[0], env)]
    raise next((error for error in refusals if error.errno == errno.EACCES), refusals[0])


def _refusal(path: str, argv: list[str], env: Mapping[str, str]) -> OSError:
    """Why the search goes on; it does not where the file is executed. Any other error ends it."""
    try:
        _exec_file(path, argv, env)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        return error


def _exec_file(path: str, argv: list[str], env: Mapping[str, str]) -> NoReturn:
    try:
        os.execve(path, argv, env)  # the command itself
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script without #!: execvp(3), and with it env(1) and every shell, hands it to /bin/sh.
    os.execve("/bin/sh", ["/bin/sh", path, *argv[1:]], env)


def _candidates(program: str, env: Mapping[str, str]) -> list[str]:
    return [program] if "/" in program else [os.path.join(folder, program) for folder in os.get_exec_path(env)]


def inherited_environment() -> dict[str, str]:
    """The environment that fingerprint was given, without entries that have no name: Python passes none on.

    In the C locale the interpreter adds LC_CTYPE to its own (PEP 538): the command must not see that.
    """
    env = {name: value for name, value in os.environ.items() if name}
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
    except OSError:  # no /proc
        return env
    if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
        env.pop("LC_CTYPE", None)
    return env


def working_directory() -> str:
    """Of one that was removed the kernel still tells the path, followed by " (deleted)"; empty where nobody can."""
    try:
        return os.getcwd()
    except OSError:
        pass
    try:
        return os.readlink("/proc/self/cwd")
    except OSError:
        return ""


def printable(text: str) -> str:
    """Bytes that are not UTF-8 as backslash escapes, as Host gives them."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def leave(ended: Ended) -> NoReturn:
    """Ends this process as the command ended: with its status, or by the same signal and without a core.

    The last thing to call: no exit handler runs, and PYTHONINSPECT opens no prompt.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: we were started with it closed
        with contextlib.suppress(OSError):
            stream.flush()
    if ended.how in ("killed", "not started"):
        _die_of(ended.status)
    os._exit(ended.exit_status)


def _die_of(number: int) -> NoReturn:
    # A soft limit of 1 byte also keeps a piped core_pattern from being started, 0 does not (fs/coredump.c).
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (1 if hard else 0, hard))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a PID namespace survives its own signals


def own_peak() -> int:
    """Bytes: our high-water mark. exec carries it into a child's ru_maxrss, which says nothing below it."""
    with open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"VmHWM:")) * 1024
