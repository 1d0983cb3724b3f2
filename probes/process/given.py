"""What a process will be started with, told by the one who starts it, before it runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from probes.kit.facts import Gap, Seen, then
from probes.kit.filepaths import absolute, found, real
from probes.kit.git import committed
from probes.kit.host import Host
from probes.kit.pythons import of_folders
from probes.process.program import Started, described, first
from probes.process.reading import granted, places
from probes.process.sections import Git, Process
from probes.process.variables import sorted_variables

# Programs that change what they were given and become another one by exec: what they are given is not what will run.
WRAPPERS = frozenset(
    "chpst chroot chrt doas env firejail flock ionice ld.so nice nohup nsenter numactl prlimit proot runuser schedtool"
    " script setarch setpriv setsid setuidgid softlimit stdbuf strace su sudo systemd-run taskset time timeout torsocks"
    " unbuffer unshare xargs".split()
)
_SHEBANGS = 4  # Linux follows as many interpreters of interpreters (fs/exec.c)


def is_wrapper(process: Process) -> bool:
    """Whether it runs a program that is about to become, or has started, the one that was meant."""
    path = process.program.path
    return not isinstance(path, Gap) and path.rpartition("/")[2] in WRAPPERS


class Executed(NamedTuple):
    """What the kernel makes of a command line: a script's own is put behind its interpreter's."""

    file: str
    argv: tuple[str, ...]


def given(host: Host, pid: int, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Process:
    """The section of a child that the process `pid` starts now. What exec hands on is read from `pid` itself;
    what only the running child can tell is not_read. Of a command that begins with a wrapper (taskset, env
    ...) it is what the wrapper is given, and nothing of the program."""
    argv, cwd = [_as_read(word) for word in argv], _as_read(cwd)
    env = {_as_read(name): _as_read(value) for name, value in env.items()}
    search = env.get("PATH", "/bin:/usr/bin")
    environ = host.redactor.environment(env)
    variables = sorted_variables(environ)
    handed_on = msgspec.structs.replace(granted(host, pid), cwd=cwd, **variables._asdict())
    executed = _executed(host, tuple(argv), search, cwd)
    if isinstance(executed, Gap) or executed.file.rpartition("/")[2] in WRAPPERS:
        return handed_on
    executable, redacted = real(host, executed.file), host.redactor.arguments(list(executed.argv))
    started = Started(
        executable=executable,
        file=executed.file,
        argv=redacted,
        cwd=cwd,
        called=first(redacted),
        files=host,
        search=search,
        imports=of_folders(environ, "PYTHONPATH"),
    )
    told = described(host, started)
    tree = Git(**committed(host, places(told.program.path, cwd))._asdict())
    return msgspec.structs.replace(handed_on, git=tree, **told._asdict())


def _as_read(text: str) -> str:
    """Python's stand-ins for bytes that are no UTF-8 (PEP 383), written as the Host writes what it reads."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _executed(host: Host, argv: tuple[str, ...], search: str, cwd: str) -> Seen[Executed]:
    if not argv:
        return Gap("absent", "no command")
    file = found(host, argv[0], search, cwd)
    for _ in range(_SHEBANGS):
        if isinstance(file, Gap):
            return file
        step = _behind_shebang(host, file, argv, search, cwd)
        if isinstance(step, Gap) or step.file == file:
            return step
        file, argv = step.file, step.argv
    return Gap("failed", f"{argv[0]}: scripts of scripts of scripts")


def _behind_shebang(host: Host, path: str, argv: tuple[str, ...], search: str, cwd: str) -> Seen[Executed]:
    """The next program that the kernel, or env(1), runs in place of `path`; `path` itself where none is."""
    if path.rpartition("/")[2] == "env" and len(argv) > 1 and argv[1][:1] != "-" and "=" not in argv[1]:
        return then(found(host, argv[1], search, cwd), lambda there: Executed(there, argv[1:]))
    head = host.head(path, 256)  # BINPRM_BUF_SIZE
    if isinstance(head, Gap) or not head.startswith("#!"):
        return head if isinstance(head, Gap) and head.code == "absent" else Executed(path, argv)
    interpreter, _, option = head[2:].partition("\n")[0].strip().replace("\t", " ").partition(" ")
    words = (interpreter, option.strip()) if option.strip() else (interpreter,)
    return Executed(absolute(interpreter, cwd), (*words, path, *argv[1:]))
