"""What the kernel hands out at most: descriptors, requests, pipes, watches, segments, threads.

Who meets a limit fails, or takes a slower way. Of those that no fact counts the program's own messages tell.
"""

from fingerprint.explain.mechanisms.graph import Condition, Rule

FS = "https://docs.kernel.org/admin-guide/sysctl/fs.html"
SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"

RULES = (
    Rule(
        name="open-files-of-the-host",
        sees=("kernel/sysctl/fs/file_max",),
        moves=("availability",),
        way="more helps",
        binds=(
            Condition(
                facts="kernel/sysctl/fs/files_open", sign="reached", says="as many files were open as the host may"
            ),
        ),
        breaks="often",
        told_by=("open-files-of-the-host",),
        why="Above it nobody on the host opens a file or accepts a connection: servers refuse clients (ENFILE).",
        confirm="`cat /proc/sys/fs/file-nr` during the run: the first number against the third.",
        sources=(FS,),
    ),
    Rule(
        name="open-files-ceiling",
        sees=("kernel/sysctl/fs/nr_open",),
        moves=("availability",),
        way="more helps",
        breaks="often",
        beside=("process/*/limits/*",),
        why="No process may raise its own limit of open files above it: a service that asks for more does not start, "
        "or goes on with fewer connections.",
        confirm="`grep 'open files' /proc/PID/limits` against `ls /proc/PID/fd | wc -l`.",
        sources=(FS,),
    ),
    Rule(
        name="asynchronous-reads",
        sees=("kernel/sysctl/fs/aio_max_nr",),
        moves=("storage",),
        way="more helps",
        binds=(
            Condition(facts="kernel/sysctl/fs/aio_nr", sign="reached", says="all asynchronous requests were set aside"),
        ),
        breaks="often",
        usual=(1.1, 4.0),
        why="io_setup() fails above it (EAGAIN), and a loader that puts up with that reads one block after another: "
        "weights come slower, and so do tensors that are offloaded to NVMe through libaio.",
        confirm="`cat /proc/sys/fs/aio-nr` during the run; `sysctl -w fs.aio-max-nr=1048576`.",
        sources=(FS,),
    ),
    Rule(
        name="io-uring",
        sees=("kernel/sysctl/kernel/io_uring_disabled",),
        moves=("storage", "system calls"),
        way="less helps",
        phases=("start-up", "host latency", "any work"),
        breaks="seldom",
        usual=(1.02, 1.5),
        why="Where io_uring is refused, loaders and servers built on it fall back to thread pools or plain calls: more "
        "switches for each read. Programs that never used it notice nothing.",
        confirm="`sysctl -w kernel.io_uring_disabled=0`; `strace -fc -e io_uring_setup COMMAND` tells who asks.",
        sources=(SYSCTL,),
    ),
    Rule(
        name="pipe-sizes",
        sees=("kernel/sysctl/fs/pipe_max_size", "kernel/sysctl/fs/pipe_user_pages_soft"),
        moves=("system calls",),
        way="more helps",
        phases=("start-up", "host latency", "any work"),
        usual=(1.0, 1.3),
        why="Workers hand over data in pieces of a pipe's size; who has used up the soft allowance gets pipes of one "
        "or two pages, and a switch between writer and reader for every few KiB.",
        confirm="`perf stat -e context-switches -p PID -- sleep 10` with the allowance raised or as root.",
        sources=("https://man7.org/linux/man-pages/man7/pipe.7.html",),
    ),
    Rule(
        name="file-watches",
        sees=("kernel/sysctl/fs/inotify_max_user_watches", "kernel/sysctl/fs/inotify_max_user_instances"),
        moves=("availability", "cpu time"),
        way="more helps",
        phases=("start-up", "host latency", "any work"),
        breaks="seldom",
        enough=524288,
        why="Without a watch, reloaders and log readers poll the file system or stop, and container runtimes do not "
        "start (ENOSPC, EMFILE). The GPU's work itself never asks for one.",
        confirm="`grep -c inotify /proc/*/fdinfo/* | grep -v :0` counts them; raise the limit and start again.",
        sources=("https://man7.org/linux/man-pages/man7/inotify.7.html",),
    ),
    Rule(
        name="epoll-watches",
        sees=("kernel/sysctl/fs/epoll_max_user_watches",),
        moves=("availability",),
        way="more helps",
        phases=("host latency", "any work"),
        breaks="seldom",
        why="A server cannot wait for more connections than that: further clients are turned away (ENOSPC). Millions "
        "by default, so that it is rarely met.",
        confirm="`grep -c tfd: /proc/PID/fdinfo/*` during the run, summed, against the limit.",
        sources=("https://man7.org/linux/man-pages/man7/epoll.7.html",),
    ),
    Rule(
        name="system-v-memory",
        sees=(
            "kernel/sysctl/kernel/shmmax",
            "kernel/sysctl/kernel/shmall",
            "kernel/sysctl/kernel/shmmni",
            "kernel/sysctl/kernel/sem",
        ),
        moves=("availability", "collective"),
        phases=("start-up", "transfer", "any work"),
        breaks="seldom",
        why="System V segments and semaphores above these limits are refused, leftovers of killed jobs among those "
        "counted: MPI, databases and old runtimes fail at start or take a slower transport. /dev/shm has nothing to do "
        "with it.",
        confirm="`ipcs -u` against `ipcs -l`; remove leftovers with `ipcrm` and start again.",
        sources=("https://man7.org/linux/man-pages/man7/sysvipc.7.html", SYSCTL),
    ),
    Rule(
        name="threads-of-the-host",
        sees=("kernel/sysctl/kernel/pid_max", "kernel/sysctl/kernel/threads_max"),
        moves=("availability",),
        way="more helps",
        binds=(
            Condition(facts="pressure/load/threads", sign="reached", says="the host had as many threads as it may"),
        ),
        breaks="often",
        beside=("process/*/cgroup/pids_max", "process/*/limits/*"),
        told_by=("threads-refused",),
        why="Above it no worker and no pool starts (EAGAIN). 32,768 on small hosts: leaked workers and pools of "
        "hundreds of threads for each GPU get there.",
        confirm="`ls -d /proc/[0-9]*/task/* | wc -l` during the run.",
        sources=(SYSCTL,),
    ),
    Rule(
        name="core-dumps",
        sees=("kernel/sysctl/kernel/core_pattern",),
        moves=("storage", "availability"),
        phases=("start-up", "any work"),
        beside=("process/*/limits/core",),
        why="A server that crashes writes its memory there, hundreds of GB into a file or through a program, before it "
        "can be started again, and may fill the disk of its neighbours. It moves nothing where nothing crashed.",
        confirm="`coredumpctl list`, or the files' times: was there a crash around the run?",
        sources=("https://man7.org/linux/man-pages/man5/core.5.html",),
    ),
)
