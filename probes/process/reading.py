"""One live process, read in the order in which its parts vanish when it ends."""

from functools import partial

import msgspec

from probes.kit.answering import answering
from probes.kit.facts import Gap, Seen, then
from probes.kit.filepaths import folder_of, link_of
from probes.kit.git import git, tree_of
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.kit.processes import began, stat
from probes.kit.pythons import of_folders, untitled
from probes.kit.written import written_since
from probes.process.attributes import Status, autogroup_nice, limits, policy
from probes.process.cgroup import cgroup
from probes.process.program import Started, described, first
from probes.process.sections import Git, Process
from probes.process.variables import Sorted, in_clear, sorted_variables

ENDED = Gap("absent", "the process ended")
_TRIES = 3


def process(host: Host, target: Target) -> Process:
    """Read again when the process became another program meanwhile: half of each would be neither."""
    for _ in range(_TRIES):
        before = _incarnation(host, target.pid)
        section = _process(host, target)
        if _incarnation(host, target.pid) == before:
            break
    return section


def _incarnation(host: Host, pid: int) -> tuple[Seen[str], Seen[tuple[object, ...]]]:
    return host.link(f"/proc/{pid}/exe"), host.arguments(pid)


def _process(host: Host, target: Target) -> Process:
    pid = target.pid
    variables, started = _started(host, pid)
    told = described(host, started)
    kept = granted(host, pid)
    return msgspec.structs.replace(
        kept,
        cwd=started.cwd,
        git=_git(host, target, told.program.path, started),
        written_since=then(
            told.program.path, lambda path: written_since(host, pid, started.files, [("program/sha256", path)])
        ),
        **told._asdict(),
        **variables._asdict(),
    )


def _started(host: Host, pid: int) -> tuple[Sorted, Started]:
    """Environment and arguments before the executable's name: a process that had ended when they were read
    has none of the three."""
    environ, argv = host.environ(pid), host.arguments(pid)
    cwd, executable = link_of(host, pid, "cwd"), link_of(host, pid, "exe")
    if isinstance(executable, Gap) and executable.code == "absent":
        return Sorted(ENDED, ENDED, ENDED), Started(ENDED, "", ENDED, ENDED, ENDED, host)
    started = Started(
        executable=then(executable, lambda path: path.removesuffix(" (deleted)")),
        file=f"/proc/{pid}/exe",
        argv=argv,
        cwd=cwd,
        called=then(executable, lambda path: then(argv, lambda words: first(untitled(host, pid, path, words)))),
        files=answering(host, pid),
        search=in_clear(environ, "PATH"),
        imports=of_folders(environ, "PYTHONPATH"),
        began=partial(began, host, pid),
    )
    return sorted_variables(environ), started


def _git(host: Host, target: Target, program: Seen[str], started: Started) -> Git:
    """Of a descendant only where its tree is not its parent's: the same tree is read once, at the top. In a file system
    of the process's own no git is run: there is the commit, and not what differs from it."""
    around = places(program, started.cwd)
    if not around and isinstance(started.cwd, Gap):
        return Git(root=started.cwd, commit=started.cwd, branch=started.cwd, dirty=started.cwd)
    if "." in target.name and _is_the_parents(host, target.pid, started.files, around):
        return Git()
    return Git(**git(started.files, around)._asdict())


def _is_the_parents(host: Host, pid: int, files: Host, around: list[str]) -> bool:
    """Whether both are in one tree, or in none."""
    parent = then(stat(host, pid), lambda seen: seen.parent)
    if isinstance(parent, Gap):
        return _root(files, around) is None
    _, above = _started(host, parent)
    theirs = places(described(host, above).program.path, above.cwd)
    return _place(host, pid) == _place(host, parent) and _root(files, around) == _root(above.files, theirs)


def _place(host: Host, pid: int) -> list[Seen[str]]:
    """Equal for processes whose paths mean the same files."""
    return [host.link(f"/proc/{pid}/{link}") for link in ("ns/mnt", "root")]


def places(program: Seen[str], cwd: Seen[str]) -> list[str]:
    """Where a git tree is looked for: around the program, then around the working directory."""
    folders = (then(program, folder_of), cwd)
    return [folder for folder in folders if not isinstance(folder, Gap)]


def _root(host: Host, places: list[str]) -> str | None:
    return next((tree.root for tree in (tree_of(host, place) for place in places) if tree), None)


def granted(host: Host, pid: int) -> Process:
    """What the kernel keeps for the process and hands on over fork and exec."""
    seen, status = stat(host, pid), Status(host, pid)
    return Process(
        affinity=status.line("Cpus_allowed_list"),
        mems_allowed=status.line("Mems_allowed_list"),
        nice=then(seen, lambda stat: stat.nice),
        policy=then(seen, lambda stat: policy(stat.policy)),
        rt_priority=then(seen, lambda stat: stat.rt_priority),
        autogroup_nice=autogroup_nice(host, pid),
        io_priority=host.io_priority(pid),
        timer_slack=host.number(f"/proc/{pid}/timerslack_ns"),
        oom_score_adj=host.number(f"/proc/{pid}/oom_score_adj"),
        thp_enabled=status.switch("THP_enabled"),
        no_new_privs=status.switch("NoNewPrivs"),
        seccomp=status.seccomp(),
        speculation_store_bypass=status.line("Speculation_Store_Bypass"),
        speculation_indirect_branch=status.line("SpeculationIndirectBranch"),
        personality=host.line(f"/proc/{pid}/personality"),
        limits=limits(host, pid),
        cgroup=cgroup(host, pid),
        uid=status.real_id("Uid"),
        gid=status.real_id("Gid"),
        threads=status.number("Threads"),
        started=then(seen, lambda stat: stat.started),
    )
