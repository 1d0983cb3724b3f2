"""CUDA, NVML and the driver below them."""

from fingerprint.said.message import Message

CUDA = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
"""The errors of the runtime, whose words `cudaGetErrorString` prints."""

MESSAGES = (
    Message(
        "cuda-system-not-ready",
        (b"system not yet initialized",),
        "cause",
        "CUDA waits for a daemon of the driver: on boards with NVSwitch the fabric manager of the same version",
        "https://github.com/dstackai/dstack/issues/2348",
    ),
    Message(
        "cuda-driver-combination",
        (b"unsupported display driver / cuda driver combination",),
        "cause",
        "the CUDA library of the driver does not fit the kernel module that is loaded",
        CUDA,
    ),
    Message(
        "driver-library-mismatch",
        (b"river/library version mismatch",),
        "cause",
        "the driver's libraries are of another version than the kernel module that is loaded",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/394",
    ),
    Message(
        "cuda-driver-too-old",
        (b"CUDA driver version is insufficient", b"The NVIDIA driver on your system is too old"),
        "cause",
        "the driver is older than the CUDA that the program was built for",
        "https://github.com/apache/mxnet/issues/3486",
    ),
    Message(
        "cuda-compatibility-refused",
        (b"forward compatibility was attempted on non supported HW",),
        "cause",
        "a newer CUDA library than the driver's was loaded, on a GPU for which that is not allowed",
        CUDA,
    ),
    Message(
        "cuda-unknown-error",
        (b"CUDA unknown error",),
        "resource",
        "CUDA could not be set up: mostly after a suspend, or without the module or device of unified memory",
        "https://github.com/pytorch/pytorch/issues/49081",
    ),
    Message(
        "cuda-init-failed",
        (b"cuda driver library init failure", b"nvcuda init failure", b"failed to initialize CUDA"),
        "resource",
        "the CUDA library of the driver could not be set up",
        "https://github.com/ollama/ollama/issues/11593",
    ),
    Message(
        "cuda-no-device",
        (b"no CUDA-capable device is detected",),
        "resource",
        "CUDA found no GPU at all",
        CUDA,
    ),
    Message(
        "cuda-invalid-ordinal",
        (b"invalid device ordinal",),
        "resource",
        "a GPU was asked for by a number that is not among those that the process sees",
        "https://github.com/vllm-project/vllm/issues/16456",
    ),
    Message(
        "cuda-device-busy",
        (b"CUDA-capable device(s) is/are busy or unavailable", b"CUDA-capable devices are busy or unavailable"),
        "resource",
        "no GPU took another process: its compute mode, or whoever holds it",
        CUDA,
    ),
    Message(
        "cuda-ecc-error",
        (b"uncorrectable ECC error encountered",),
        "cause",
        "a GPU's memory returned what could not be corrected",
        CUDA,
    ),
    Message(
        "cuda-nvlink-error",
        (b"uncorrectable NVLink error",),
        "cause",
        "a link between GPUs failed while it was used",
        CUDA,
    ),
    Message(
        "gpu-lost",
        (b"GPU is lost", b"fallen off the bus"),
        "cause",
        "a GPU went from the bus",
        "https://docs.nvidia.com/deploy/xid-errors/index.html",
    ),
    Message(
        "cuda-no-kernel-image",
        (b"no kernel image is available for execution on the device", b"is not compatible with the current PyTorch"),
        "cause",
        "the program was not built for GPUs of this kind",
        "https://github.com/ollama/ollama/issues/12408",
    ),
    Message(
        "ptx-too-new",
        (b"PTX was compiled with an unsupported toolchain",),
        "cause",
        "the driver is older than the compiler that made the program's kernels",
        CUDA,
    ),
    Message(
        "peer-access-refused",
        (b"peer access is not supported between these two devices",),
        "cause",
        "one GPU may not reach the memory of the other",
        CUDA,
    ),
    Message(
        "cuda-illegal-access",
        (b"an illegal memory access was encountered",),
        "failure",
        "a kernel read or wrote where it may not",
        "https://github.com/facebookresearch/Detectron/issues/160",
        unnamed="a bug of a kernel, a wrong argument and broken memory all end so",
    ),
    Message(
        "cuda-launch-failure",
        (b"unspecified launch failure",),
        "failure",
        "a kernel broke off",
        "https://github.com/ultralytics/ultralytics/issues/7716",
        unnamed="a bug of a kernel, a suspend and broken memory all end so",
    ),
)
