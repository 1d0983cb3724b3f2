"""What runs at all, from which code, with which arguments, and what it is granted beside CPU and memory."""

from fingerprint.explain.mechanisms.graph import Condition, Rule

ENOUGH_FILES = 20_000
"""A connection, a worker's pipes, a file of a checkpoint take one each: servers of a model hold some thousand."""

RULES: tuple[Rule, ...] = (
    Rule(
        name="arguments",
        sees=("process/*/flags", "process/*/flags/*", "process/*/operands"),
        moves=("workload", "kernel choice", "launch latency", "gpu memory", "collective", "cpu time", "accept length"),
        breaks="often",
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "cpu/smt/active"),
        why="A flag that no other rule knows, or what the program is told to work on: a model, a file, a verb. It may "
        "decide everything or nothing, and one that the program does not know may be passed over without a word.",
        confirm="Start with the other run's arguments, one at a time; the program's log tells what took effect",
        confirmed=2,
        sources=("https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark/issues/14",),
    ),
    Rule(
        name="program",
        sees=("process/*/program/path", "process/*/program/sha256"),
        moves=("code",),
        breaks="often",
        usual=(1.02, 5.5),
        why="Other code runs: another release or build, or one that was edited in place under its old name.",
        confirm="Run the other run's file with everything else as it is",
        confirmed=3,
        sources=("https://man7.org/linux/man-pages/man5/proc_pid_exe.5.html",),
    ),
    Rule(
        name="python-environment",
        sees=("process/*/interpreter/environment",),
        moves=("code",),
        members=("libraries",),
        breaks="often",
        usual=(1.02, 5.5),
        beside=("process/*/env/PYTHONPATH", "process/*/env/LD_LIBRARY_PATH"),
        told_by=("library-too-old", "module-missing"),
        why="Every package that is imported comes from it: what was upgraded is often not what moved the number, but "
        "something that came along (Triton, NCCL, cuDNN, FlashInfer).",
        confirm="pip freeze of both, then swap one package at a time",
        drifted=1,
        sources=(
            "https://docs.python.org/3/library/venv.html",
            "https://github.com/vllm-project/vllm/issues/43153",
            "https://github.com/vllm-project/vllm/issues/44808",
        ),
    ),
    Rule(
        name="interpreter",
        sees=(
            "process/*/interpreter/path",
            "process/*/interpreter/sha256",
            "process/*/interpreter/version",
            "process/*/interpreter/options",
        ),
        moves=("cpu time", "code"),
        phases=("host latency", "decode step", "verify step", "prefill", "start-up", "any work"),
        breaks="seldom",
        usual=(1.02, 1.6),
        why="Releases, builds and switches of the interpreter differ by tens of percent in what runs on the host "
        "between two steps; GPU kernels do not change.",
        confirm="pyperformance or the run's own host loop with both interpreters",
        drifted=21,
        sources=("https://docs.python.org/3/whatsnew/3.11.html", "https://docs.python.org/3/using/configure.html"),
    ),
    Rule(
        name="commit",
        sees=("process/*/git/commit", "process/*/git/root"),
        moves=("code",),
        breaks="often",
        usual=(1.02, 5.5),
        why="The code itself is another. An engine's upgrade lost or gained 1.02 to 5.5x; now and then the commit that "
        "everybody named was innocent, and the bad one came in with it.",
        confirm="git bisect between the two commits with the run as its test",
        confirmed=3,
        drifted=3,
        sources=(
            "https://git-scm.com/docs/git-bisect",
            "https://github.com/sgl-project/sglang/issues/28300",
        ),
    ),
    Rule(
        name="uncommitted-edits",
        sees=("process/*/git/dirty",),
        moves=("code",),
        breaks="seldom",
        usual=(1.02, 5.5),
        beside=("process/*/git/commit",),
        why="Edits that no commit tells run as well: a hotfix, a debug print on the path of each step.",
        confirm="git stash, then the same run",
        drifted=2,
        sources=("https://git-scm.com/docs/git-diff-index",),
    ),
    Rule(
        name="working-folder",
        sees=("process/*/cwd",),
        moves=("code", "storage"),
        phases=("start-up", "prefill", "decode step", "verify step", "any work"),
        breaks="seldom",
        beside=("process/*/env/PYTHONPATH",),
        why="Relative names of configurations, caches and modules mean other files, and the folder may lie on another "
        "disk.",
        confirm="Start in the other folder with everything else as it is",
        drifted=1,
        sources=("https://docs.python.org/3/library/sys_path_init.html",),
    ),
    Rule(
        name="io-priority",
        sees=("process/*/io_priority",),
        moves=("storage",),
        binds=(
            Condition(
                facts="pressure/io/some/total", sign="grew", says="threads of this host waited for a disk", least=1e5
            ),
        ),
        usual=(1.05, 4.0),
        why="A reader of the idle class gets the disk when nobody else wants it, where the disk's scheduler looks at "
        "it.",
        confirm="ionice -c 2 -n 4 for the start; cat /sys/block/DISK/queue/scheduler",
        drifted=1,
        sources=("https://docs.kernel.org/block/ioprio.html",),
    ),
    Rule(
        name="locked-memory-limit",
        sees=("process/*/limits/memlock",),
        moves=("network", "collective", "pcie link", "availability"),
        way="more helps",
        breaks="often",
        usual=(1.2, 10.0),
        over_rdma=True,
        told_by=("register-memory-failed", "locked-memory-limit", "lock-refused"),
        why="Memory that may not be pinned cannot be registered for RDMA or locked against swap: transports fail or "
        "fall back to copies. The kernel counts no refusals.",
        confirm="prlimit --memlock=unlimited for the start; VmPin and VmLck in /proc/PID/status",
        confirmed=1,
        sources=("https://man7.org/linux/man-pages/man2/getrlimit.2.html",),
    ),
    Rule(
        name="open-files",
        sees=("process/*/limits/nofile",),
        moves=("availability",),
        way="more helps",
        phases=("completion",),
        breaks="often",
        enough=ENOUGH_FILES,
        told_by=("open-files", "descriptors-not-passed"),
        why="A descriptor a connection, a mapped weight file, a shared-memory segment: loaders of many workers ended "
        "with `Too many open files`.",
        confirm="prlimit --nofile=65535 for the start; `Too many open files` in the log",
        confirmed=2,
        drifted=5,
        sources=(
            "https://man7.org/linux/man-pages/man2/getrlimit.2.html",
            "https://github.com/pytorch/pytorch/issues/137695",
        ),
    ),
    Rule(
        name="open-connections",
        sees=("process/*/limits/nofile",),
        moves=("availability",),
        way="more helps",
        mostly=True,
        phases=("start-up", "host latency", "any work"),
        usual=(1.05, 20.0),
        enough=ENOUGH_FILES,
        told_by=("open-files",),
        why="A client of a thousand requests at once completed a tenth of them under 1024 descriptors. With many "
        "millions, programs that close all they might have open spend seconds on each start of a child.",
        confirm="prlimit --nofile=65535 for the start; `Too many open files` in the log",
        confirmed=2,
        drifted=5,
        sources=(
            "https://man7.org/linux/man-pages/man2/getrlimit.2.html",
            "https://github.com/pytorch/pytorch/issues/137695",
        ),
    ),
    Rule(
        name="limits-seldom-met",
        sees=tuple(
            f"process/*/limits/{name}" for name in "core stack locks msgqueue nice rtprio rttime sigpending".split()
        ),
        moves=("availability",),
        phases=("start-up", "host latency", "any work"),
        breaks="seldom",
        unused=True,
        why="How large a core file may be tells what a crash leaves behind, and no server comes near the others: a "
        "stack of 8 MiB is enough for all but deep recursion, real-time priority is asked for by few.",
        confirm="prlimit with the other run's values for the start",
        drifted=2,
        sources=("https://man7.org/linux/man-pages/man2/getrlimit.2.html",),
    ),
    Rule(
        name="resource-limits",
        sees=("process/*/limits", "process/*/limits/*"),
        moves=("availability", "host memory"),
        phases=("start-up", "host latency", "any work"),
        breaks="often",
        why="Too few open files, threads or address space make a server refuse connections, start fewer workers or "
        "end. The kernel counts no refusals.",
        confirm="prlimit with the other run's values for the start; `Too many open files` and like lines in the log",
        sources=("https://man7.org/linux/man-pages/man2/getrlimit.2.html",),
    ),
)
