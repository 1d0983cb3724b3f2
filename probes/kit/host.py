"""The one door to the machine. Everything a probe learns passes through a Host.

Reads are bounded, opened once, read to the end or the cap, decoded with backslashreplace, and never raise for what is
missing: each returns the value or a Gap that says why there is none. Each read is one named call with one key, so that
a recording can hold all of them and a replay can answer `not_read` to anything else.
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from probes.kit import entries
from probes.kit.answers import Elf, Resident, Space, Stat
from probes.kit.beneath import beneath, followed
from probes.kit.comm import pids
from probes.kit.environs import Environs
from probes.kit.facts import Document, Gap, GapCode, Map, Redacted, Seen, then
from probes.kit.nvml.inquiry import Argument, key_of
from probes.kit.nvml.options import Options
from probes.kit.pci_config import PciConfig, registers_of
from probes.kit.redact import Redactor
from probes.kit.regular import Identity, beginning, identity, open_regular, sha256_of, whole
from probes.kit.routes import routes
from probes.kit.weights import Weights, read_weights

if TYPE_CHECKING:
    from probes.kit.nvml.asking import Nvml

R = TypeVar("R")
Place = Callable[[str, str], AbstractContextManager[str]]

TEXT_CAP = 4 << 20
DIGEST_CAP = 512 << 20

ERRNO_GAPS: Mapping[int, GapCode] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ESRCH: "absent",
    errno.ENXIO: "absent",
    errno.ENODEV: "lost",
    errno.ENOTCONN: "lost",  # the program behind FUSE has ended
    errno.ESTALE: "lost",  # NFS: the server has forgotten it
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.EINVAL: "unsupported",
    errno.ENOSYS: "unsupported",
    errno.ENOTTY: "unsupported",
    errno.EOPNOTSUPP: "unsupported",
    errno.ETIMEDOUT: "timed_out",
}


def gap_of(error: OSError) -> Gap:
    """The gap for an error of the kernel; whatever is not in ERRNO_GAPS is `failed`."""
    return Gap(ERRNO_GAPS.get(error.errno or 0, "failed"), error.strerror or str(error))


class Host:
    """This machine, or a tree of another one under `root`. Paths are absolute, as they are on the machine.

    A tree that was copied is never complete: what is missing there is `not_read`, not `absent`; links stay inside it.
    """

    def __init__(
        self, root: str = "/", redactor: Redactor | None = None, nvml: Options | None = None, *, deep: bool = False
    ) -> None:
        """deep: everything is looked at that is otherwise left out for its cost."""
        self.root = root.rstrip("/")
        self.deep = deep
        self.redactor = redactor or Redactor.ephemeral()
        self.options = nvml or Options()
        self._digests: dict[Identity, str] = {}
        self._told: dict[tuple[Identity, str], Any] = {}
        self.silent: dict[str, bool] = {}  # for a moment: see kit/answering.py
        self._environs = Environs(self.redactor.environ)

    def within(self, pid: int) -> "Host":
        """The files as this process sees them: this host itself where it shares them with us and is ours.

        Where that cannot be told (its links are denied, it has ended), each file is the same gap. Of another user's
        process root reads what that user may, in whatever root.
        """
        from probes.kit.user import as_its_user
        from probes.kit.within import Within

        return as_its_user(self, pid, self if self._shares_files(pid) else Within(self, pid))

    def _shares_files(self, pid: int) -> bool:
        """The same mount namespace, and no chroot. A tree of files knows of no others."""
        ours, theirs = ([self.link(f"/proc/{who}/{link}") for link in ("ns/mnt", "root")] for who in ("self", pid))
        return ours == theirs or all(isinstance(link, Gap) and link.code == "not_read" for link in theirs)

    def text(self, path: str, cap: int = TEXT_CAP, patience: float = 0.0) -> Seen[str]:
        """The whole content. `failed` beyond `cap` bytes, `unsupported` for what is no regular file. patience: as
        `space` has it, for a file that asks a device which may hang."""
        ask = partial(self._try, path, lambda p: whole(p, cap))
        return self._ask("text", path, partial(_apart, ask, str, patience) if patience else ask)

    def head(self, path: str, size: int) -> Seen[str]:
        """The first `size` bytes of a file of any length, e.g. to tell a script from a program."""
        return self._ask("head", f"{size} {path}", lambda: self._try(path, lambda p: beginning(p, size)))

    def line(self, path: str) -> Seen[str]:
        """The content without surrounding white space; an empty file is an empty string."""
        return then(self.text(path), str.strip)

    def matching(self, path: str, pattern: str, cap: int = TEXT_CAP) -> Seen[tuple[str, ...]]:
        """What the expression finds in each line of a text, in order: its group that matched, else the whole match.

        A recording holds that and nothing else of the file, which may be full of other things' secrets.
        """
        return self._ask(
            "matching", f"{path} {pattern}", lambda: then(self._live_text(path, cap), lambda t: _matching(t, pattern))
        )

    def settings(self, path: str) -> Seen[Map[Seen[tuple[str | Redacted, ...]]]]:
        """What a file of settings of 256 KiB at most gives, by key, secrets redacted: see kit/setting_files.py."""
        return self._ask("settings", path, lambda: then(self._live_text(path, TEXT_CAP >> 4), self.redactor.settings))

    def mentioned(self, folder: str, words: Sequence[str]) -> Seen[tuple[str, ...]]:
        """Which of the words the Python files below a folder hold: see kit/mentioned.py."""
        key = " ".join((folder, *words))
        return self._ask("mentioned", key, lambda: self._try(folder, lambda p: _mentioned(p, words)))

    def number(self, path: str) -> Seen[int]:
        """The content as a decimal or 0x integer; anything else is `failed`."""
        return then(self.text(path), _number)

    def names(self, path: str) -> Seen[tuple[str, ...]]:
        """The sorted names in a folder."""
        return self._ask("names", path, lambda: self._try(path, entries.names))

    def link(self, path: str) -> Seen[str]:
        """Where a symbolic link points, as written."""
        return self._ask("link", path, lambda: self._try(path, entries.link, beneath))

    def stat(self, path: str) -> Seen[Stat]:
        return self._ask("stat", path, lambda: self._try(path, entries.stat))

    def stats(self, path: str) -> Seen[Mapping[str, Stat]]:
        """What is in a folder, by name; links are told as links. At a tenth of the cost of `stat` for each."""
        return self._ask("stats", path, lambda: self._try(path, entries.stats))

    def space(self, path: str, patience: float = 0.0) -> Seen[Space]:
        """Of the file system that holds the path. patience: seconds that a child waits for a server; 0: no child."""
        ask = partial(self._try, path, entries.space)
        return self._ask("space", path, partial(_apart, ask, Space, patience) if patience else ask)

    def resident(self, path: str, most: int) -> Seen[Resident]:
        """How much of a file lies in memory, of which at most so many bytes are looked at: see kit/residency.py."""
        return self._ask("resident", f"{most} {path}", lambda: self._try(path, lambda p: _resident(p, most)))

    def sha256(self, path: str) -> Seen[str]:
        """Hex digest of a regular file of at most 512 MiB; cached while it is the same: see kit/regular.py."""
        return self._ask("sha256", path, lambda: self._try(path, self._sha256))

    def elf(self, path: str, pattern: str = "") -> Seen[Elf]:
        """What an ELF file tells of itself: see kit/elf.py; cached as `sha256` is. `pattern`: what its read-only
        data are searched for, of which a recording holds the match alone."""
        return self._ask("elf", f"{path} {pattern}", lambda: self._try(path, lambda p: self._elf(p, pattern)))

    def weights(self, path: str) -> Seen[Weights]:
        """What a file of weights tells in its header: see kit/weights.py; cached as `sha256` is."""
        return self._ask("weights", path, lambda: self._try(path, lambda p: self._once(p, "weights", read_weights)))

    def pci_config(self, path: str) -> Seen[PciConfig]:
        """Registers of a PCI function, of its file `config`, which is opened once: see kit/pci_config.py."""
        return self._ask("pci_config", path, lambda: self._try(path, registers_of))

    def opened(self, pid: int, pattern: str) -> Seen[tuple[str, ...]]:
        """What the process holds open under names that the expression matches. Others leave no trace in the answer."""
        return self._ask(
            "opened", f"{pid} {pattern}", lambda: self._try(f"/proc/{pid}/fd", lambda p: _opened(p, pattern))
        )

    def environ(self, pid: int) -> Seen[Map[Seen[str | Redacted]]]:
        """The environment as the process was started, private values redacted before anybody sees them. Of who wrote a
        title over it what it has now, or what was read before: see kit/environs.py."""
        return self._ask("environ", f"/proc/{pid}/environ", lambda: self._environs.of(pid, self._try))

    def arguments(self, pid: int) -> Seen[tuple[str | Redacted, ...]]:
        """The argument vector, secrets redacted. An empty tuple for kernel threads and zombies."""
        path = f"/proc/{pid}/cmdline"
        return self._ask("arguments", path, lambda: then(self._live_text(path), self.redactor.cmdline))

    def io_priority(self, pid: int) -> Seen[str]:
        """`CLASS/LEVEL` of ioprio_get(2), e.g. `none/0`, `best-effort/4`; no file of /proc tells it."""
        return self._ask("io_priority", str(pid), lambda: self._live_only(lambda: _io_priority(pid)))

    def pids(self, *names: str) -> Seen[Mapping[str, tuple[int, ...]]]:
        """The processes that call themselves one of these, by that name, of which the kernel keeps 15 bytes.

        Others leave no trace in the answer: a recording is given away.
        """
        return self._ask("pids", " ".join(names), lambda: self._try("/proc", lambda proc: pids(proc, names)))

    def ethtool(self, interface: str, what: str) -> Seen[Mapping[str, int | str]]:
        """What the driver of a network interface tells by ioctl; `what` is one of those in kit/ethtool.py."""
        return self._ask("ethtool", f"{interface} {what}", lambda: self._live_only(_ethtool, interface, what))

    def netlink(self, what: str, interface: str = "") -> Seen[Mapping[str, tuple[int, ...]]]:
        """What only netlink tells; `what` is one of those in kit/netlink.py."""
        return self._ask("netlink", f"{what} {interface}", lambda: self._live_only(_netlink, what, interface))

    def routes(self) -> Seen[Mapping[str, tuple[str, ...]]]:
        """Which interfaces IP leaves by, and no address: see kit/routes.py."""
        return self._ask("routes", "", lambda: routes(self._live_text))

    def kernel_log(self) -> Seen[str]:
        """Of the kernel's log since boot, what concerns PCI devices and their drivers: see kit/kmsg.py."""
        return self._ask("kernel_log", "", lambda: self._live_only(_kernel_log))

    def command(self, argv: Sequence[str], *, cwd: str = "/", budget: float = 2.0) -> Seen[str]:
        """Standard output of a program, run with a plain environment and given up after `budget` seconds. Anything but
        exit status 0 is `failed` with the first line of its standard error."""
        return self._ask("command", "\0".join((cwd, *argv)), lambda: self._live_only(lambda: _run(argv, cwd, budget)))

    def cpuid(self) -> Seen[Mapping[str, Any]]:
        """What py-cpuinfo tells (CPUID leaves and flags). Takes over a second, starts programs and maps
        executable memory: only for a child that may be given up, once a boot."""
        return self._ask("cpuid", "", lambda: self._live_only(_cpuid))

    def nvml(self, device: str, name: str, *args: Argument) -> Seen[Any]:
        """What a getter of NVML answers about a device, by its PCI address; "" for the system.

        `name` and `args` are those of kit/nvml/inquiry.py: all questions of one moment are answered by one pass.
        """
        key = key_of(name, args)
        question = f"{device} {key}" if device else key
        return self._ask("nvml", question, lambda: self._live_only(self._nvml.answer, self, device, key))

    def nvml_devices(self) -> Seen[tuple[str, ...]]:
        """PCI addresses of the devices that NVML could attach."""
        return self._ask("nvml_devices", "", lambda: self._live_only(lambda: self._nvml.devices(self)))

    def nvml_sample(self) -> Seen[tuple[str, ...]]:
        """As `nvml_devices`, of a child that lives on: until the next moment, `nvml` answers what it reads now."""
        return self._ask("nvml_sample", "", lambda: self._live_only(lambda: self._nvml.sample(self)))

    def http(self, pid: int, at: str, path: str, pattern: str = "") -> Seen[Document]:
        """What answers GET where the process listens, `at` ADDRESS:PORT of its network: see kit/http.py."""
        from probes.kit.http import answered

        question = f"{pid} {at} {path} {pattern}"
        return self._ask("http", question, lambda: self._live_only(answered, self.redactor, pid, at, path, pattern))

    def begin_moment(self) -> None:
        """What is asked from here on is asked anew."""
        self.silent.clear()
        self._nvml.begin()

    @cached_property
    def _nvml(self) -> "Nvml":
        from probes.kit.nvml.asking import Nvml

        return Nvml(self.options)

    def _ask(self, call: str, key: str, live: Callable[[], Seen[R]]) -> Seen[R]:
        """The one place where a question is answered; recorders and replays override it."""
        return live()

    def _live_text(self, path: str, cap: int = TEXT_CAP) -> Seen[str]:
        return self._try(path, lambda p: whole(p, cap))

    def _try(self, path: str, read: Callable[[str], Seen[R]], place: Place = followed) -> Seen[R]:
        try:
            return self._placed(path, read, place) if self.root else read(path)
        except OSError as error:
            gap = gap_of(error)
        except ValueError:  # open(2) never saw it: a path cannot hold NUL
            gap = Gap("absent", "no such path")
        return self._missing(gap) if self.root and gap.code == "absent" else gap

    def _placed(self, path: str, read: Callable[[str], Seen[R]], place: Place) -> Seen[R]:
        with place(self.root, path) as there:
            return read(there)

    def _missing(self, _gap: Gap) -> Gap:
        """What stands for `absent` beneath a root."""
        return Gap("not_read", "not in this tree")

    def _live_only(self, read: Callable[..., Seen[R]], *args: Any) -> Seen[R]:
        if self.root:
            return Gap("not_read", "a tree of files does not tell this")
        try:
            return read(*args)
        except OSError as error:
            return gap_of(error)

    def _sha256(self, path: str) -> Seen[str]:
        with open(path, "rb", opener=open_regular) as file:
            key = identity(file.fileno())
            if key[-1] > DIGEST_CAP:
                return Gap("failed", f"larger than {DIGEST_CAP >> 20} MiB")
            if key not in self._digests:
                self._digests[key] = sha256_of(file)
            return self._digests[key]

    def _elf(self, path: str, pattern: str) -> Seen[Elf]:
        from probes.kit.elf import read_elf

        return self._once(path, f"elf {pattern}", lambda fd: read_elf(fd, pattern))

    def _once(self, path: str, what: str, read: Callable[[int], R]) -> Seen[R]:
        """What `read` makes of the file while it stays the same; its ValueError is `failed`."""
        fd = open_regular(path)
        try:
            key = identity(fd), what
            told: R = self._told[key] if key in self._told else self._told.setdefault(key, read(fd))
            return told
        except ValueError as error:
            return Gap("failed", str(error))
        finally:
            os.close(fd)


def _mentioned(folder: str, words: Sequence[str]) -> Seen[tuple[str, ...]]:
    from probes.kit.mentioned import mentioned

    return mentioned(folder, words)


def _apart(ask: Callable[[], Seen[R]], kind: type[R], patience: float) -> Seen[R]:
    from probes.kit.forked import asked_apart

    return asked_apart(ask, kind, patience)


def _resident(path: str, most: int) -> Seen[Resident]:
    from probes.kit.residency import resident

    return resident(path, most)


def _opened(folder: str, pattern: str) -> tuple[str, ...]:
    from probes.kit.opened import opened

    return opened(folder, pattern)


def _ethtool(interface: str, what: str) -> Mapping[str, int | str]:
    from probes.kit.ethtool import ethtool

    return ethtool(interface, what)


def _netlink(what: str, interface: str) -> Mapping[str, tuple[int, ...]]:
    from probes.kit.netlink import netlink

    return netlink(what, interface)


def _matching(text: str, pattern: str) -> tuple[str, ...]:
    import re

    return tuple(found[found.lastindex or 0] for found in re.finditer(pattern, text, re.MULTILINE))


def _number(text: str) -> int:
    """Stricter than int(text, 0), which takes 0b, 0o and underscores and refuses 007."""
    digits = text.strip()
    if not digits.isascii() or "_" in digits:
        raise ValueError(f"no number: {text!r}")
    return int(digits, 16 if digits[:2] in ("0x", "0X") else 10)


def _kernel_log() -> Seen[str]:
    from probes.kit.kmsg import read_kernel_log

    return read_kernel_log()


def _io_priority(pid: int) -> Seen[str]:
    import psutil

    try:
        answer = psutil.Process(pid).ionice()
    except psutil.NoSuchProcess:
        return Gap("absent", "the process ended")
    except psutil.AccessDenied:
        return Gap("denied", "ioprio_get is for the owner and root")
    names = {0: "none", 1: "realtime", 2: "best-effort", 3: "idle"}
    return f"{names.get(int(answer.ioclass), int(answer.ioclass))}/{answer.value}"


def _run(argv: Sequence[str], cwd: str, budget: float) -> Seen[str]:
    from probes.kit.child import output_of

    return output_of(argv, cwd, budget)


def _cpuid() -> Mapping[str, Any]:
    import cpuinfo

    return dict(cpuinfo.get_cpu_info())
