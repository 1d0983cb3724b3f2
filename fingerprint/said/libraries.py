"""Libraries that are missing, or do not fit each other."""

from fingerprint.said.message import Message

LOADER = "https://man7.org/linux/man-pages/man8/ld.so.8.html"

MESSAGES = (
    Message(
        "library-missing",
        (b"cannot open shared object file",),
        "resource",
        "a library was not found where it was looked for",
        LOADER,
        unless=b"NCCL INFO",  # plugins that NCCL does without
    ),
    Message(
        "symbol-missing",
        (b"undefined symbol:",),
        "resource",
        "two libraries do not fit: one lacks what the other was built against",
        LOADER,
        unless=b"NCCL INFO",  # it asks for what newer libraries have
    ),
    Message(
        "library-too-old",
        (b"version `GLIBC",),
        "resource",
        "a library of the system is older than what the program was built against",
        LOADER,
        also=b"not found",
    ),
    Message(
        "module-missing",
        (b"ModuleNotFoundError",),
        "resource",
        "a package of Python was not found",
        "https://docs.python.org/3/library/exceptions.html#ModuleNotFoundError",
    ),
    Message(
        "torch-without-cuda",
        (b"Torch not compiled with CUDA enabled",),
        "cause",
        "this PyTorch knows no GPU",
        "https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py",
    ),
    Message(
        "kernel-too-large",
        (b"out of resource: shared memory",),
        "resource",
        "a kernel of Triton asks for more of a multiprocessor's memory than this GPU has",
        "https://github.com/triton-lang/triton/blob/main/python/triton/runtime/errors.py",
    ),
)
