"""Which of the files that a process has mapped can matter to its speed, and what they are called."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from probes.kit.facts import Gap, Seen, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

MAPS_CAP = 32 << 20  # vm.max_map_count is 65530 lines by default
MOST = 256  # a process that compiles maps one object a kernel

# Families by the start of their names: collectives and fabrics; CUDA and ROCm; frameworks; CPU arithmetic and thread
# pools; allocators; llama.cpp; libraries that divide a GPU (HAMi's libvgpu).
_LIBRARIES = (
    "nccl|rccl|nvshmem|ibverbs|mlx[45]|rdmacm|efa|fabric|uc[pstm](?=[.-])|uc[pstm]_|gdrapi|nixl|mooncake|transfer_engine"
    "|cudart|cuda(?=[.])|cublas|cudnn|cufft|curand|cufile|cusolver|cusparse|cutensor|cupti|nvrtc|nvJitLink|nvinfer"
    "|nvidia-ml|nvidia-ptxjitcompiler|amdhip64|hsa-runtime64|hipblas|rocblas|MIOpen"
    "|torch|c10|triton|tensorrt_llm|nvfuser|onnxruntime"
    "|gomp|omp(?=[.])|omp-|iomp5|openblas|scipy_openblas|mkl_|blis|tbb|dnnl|numa(?=[.-])"
    "|jemalloc|tcmalloc|mimalloc|llama|ggml|mtmd|vgpu"
)
# Packages whose extension modules hold kernels.
_ENGINES = (
    "vllm|vllm_flash_attn|sglang|sgl_kernel|flashinfer|deep_gemm|deep_ep|flash_attn|flash_mla|xformers|tensorrt_llm"
    "|lmdeploy|turbomind|exllamav[23]|bitsandbytes|torchao|causal_conv1d|mamba_ssm|xgrammar|llama_cpp|lmcache|triton"
    "|quack|tilelang|transformer_engine|apex"
)
_ROOTS = "(?:site|dist)-packages"
_FILE = (
    rf"(?:lib(?:{_LIBRARIES})[^/\n]*\.so[^/\n]*?"
    rf"|{_ROOTS}/(?:{_ENGINES})\w*/[^\n]*\.so"  # of an installed engine
    rf"|(?:{_ENGINES})(?:/[\w.]+)?/[^/\n]+\.(?:abi3|cpython-[^/\n]+)\.so"  # of one that is run from its source tree
    rf"|{_ROOTS}/(?:{_ENGINES})\w*\.[^/\n]*so"
    r"|cached_ops/[^/\n]+/[^/\n]+\.so"  # compiled by FlashInfer on this machine
)
_DELETED = " (deleted)"
_HASH = lazy_regex(r"-[0-9a-f]{8}$")  # by which auditwheel keeps copies apart


class Object(NamedTuple):
    """One file in the address space. addresses: where it begins, as its name in /proc/PID/map_files."""

    path: str
    deleted: bool
    addresses: str
    file: tuple[str, str]


class Objects(NamedTuple):
    """named: name -> its files, each once, in the order of their paths. number: of all files, also of those beyond
    MOST."""

    named: Mapping[str, Sequence[Object]]
    number: int


def objects(host: Host, pid: int, also: Seen[Sequence[str]]) -> Seen[Objects]:
    """also: paths or names of further files to look for."""
    lines = host.matching(f"/proc/{pid}/maps", _line(() if isinstance(also, Gap) else also), MAPS_CAP)
    return then(lines, lambda found: _by_name(map(_object, found)))


def _line(also: Sequence[str]) -> str:
    names = "".join(f"|{re.escape(path.rpartition('/')[2])}" for path in also)
    return rf"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ [1-9]\d* +/(?:[^\n]*/)?{_FILE}{names})(?: \(deleted\))?$"


def _object(line: str) -> Object:
    addresses, _, _, device, inode, path = line.split(maxsplit=5)
    return Object(path.removesuffix(_DELETED), path.endswith(_DELETED), addresses, (device, inode))


def _by_name(found: Iterable[Object]) -> Objects:
    files: dict[tuple[str, str], Object] = {}
    for one in found:
        files.setdefault(one.file, one)
    named: dict[str, list[Object]] = {}
    for one in sorted(files.values())[:MOST]:
        named.setdefault(name_of(one.path), []).append(one)
    return Objects(dict(sorted(named.items())), len(files))


def name_of(path: str) -> str:
    """`libnccl` of libnccl.so.2, `libgomp` of libgomp-a34b3233.so.1.0.0; of an extension module with its package, as
    it is imported: `vllm._C` of vllm/_C.abi3.so."""
    folder, _, file = path.rpartition("/")
    stem = _HASH.sub("", file.partition(".so")[0])
    if stem.startswith("lib"):
        return stem
    return f"{folder.rpartition('/')[2]}.{stem.partition('.')[0]}"
