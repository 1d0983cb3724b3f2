"""What the kernel and the container grant: files, threads, memory, /dev/shm."""

from fingerprint.said.message import Message

ERRNO = "https://man7.org/linux/man-pages/man3/errno.3.html"
"""The words of the C library for each error."""

MESSAGES = (
    Message(
        "open-files",
        (b"Too many open files",),
        "cause",
        "the process had as many files and sockets open as it may",
        "https://github.com/facebookresearch/maskrcnn-benchmark/issues/158",
        unless=b"Too many open files in system",
    ),
    Message(
        "open-files-of-the-host",
        (b"Too many open files in system",),
        "cause",
        "the host had as many files open as it may",
        ERRNO,
    ),
    Message(
        "descriptors-not-passed",
        (b"received 0 items of ancdata",),
        "cause",
        "a process could not take the files that a worker handed it, for it had as many open as it may",
        "https://github.com/pytorch/pytorch/pull/34768",
    ),
    Message(
        "threads-refused",
        (b"can't start new thread", b"pthread_create failed"),
        "resource",
        "the kernel refused another thread",
        "https://man7.org/linux/man-pages/man3/pthread_create.3.html",
    ),
    Message(
        "memory-policy-denied",
        (b"et_mempolicy: Operation not permitted", b"mbind: Operation not permitted"),
        "resource",
        "the process may not say on which node its memory lies",
        "https://github.com/vllm-project/vllm/issues/24016",
    ),
    Message(
        "shared-memory-full",
        (b"No space left on device",),
        "cause",
        "shared memory, /dev/shm, was full",
        "https://github.com/pytorch/ci-infra/pull/490",
        also=b"/dev/shm",
    ),
    Message(
        "no-space-left",
        (b"No space left on device",),
        "resource",
        "a file system was full: /dev/shm is one",
        "https://github.com/NVIDIA/Megatron-LM/issues/878",
        unless=b"/dev/shm",
    ),
    Message(
        "worker-shared-memory",
        (b"insufficient shared memory (shm)", b"workers are out of shared memory"),
        "cause",
        "a worker met the end of /dev/shm",
        "https://github.com/open-mmlab/mmsegmentation/issues/1356",
    ),
    Message(
        "worker-killed",
        (b"is killed by signal: Killed", b"died with <Signals.SIGKILL: 9>", b"failed (exitcode: -9)"),
        "resource",
        "a worker was killed: mostly by the kernel, for want of memory",
        "https://docs.pytorch.org/docs/stable/elastic/errors.html",
    ),
    Message(
        "host-memory-refused",
        (b"Cannot allocate memory", b"DefaultCPUAllocator: can't allocate memory"),
        "resource",
        "the host's memory was refused",
        ERRNO,
        unless=b"ibv_",
    ),
    Message(
        "lock-refused",
        (b"failed to mlock",),
        "cause",
        "weights could not be kept in memory, for the limit of locked memory is too low",
        "https://github.com/ggml-org/llama.cpp/blob/master/src/llama-mmap.cpp",
    ),
)
