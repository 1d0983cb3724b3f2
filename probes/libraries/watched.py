"""The packages whose files are held against RECORD without being asked to: what can move a number when it is edited."""

from probes.kit.lazy import lazy_regex

_NAMES = frozenset(
    # frameworks and compilers
    "torch torchvision torchaudio torchao triton pytorch-triton pytorch-triton-rocm triton-kernels tilelang jax jaxlib"
    # engines
    " vllm sglang sgl-kernel sglang-router sglang-kernel tensorrt-llm lmdeploy text-generation-server"
    " llama-cpp-python mlc-llm ktransformers"
    # kernels: attention, mixtures of experts, quantisation
    " flash-attn flash-attn-3 flash-attn-4 vllm-flash-attn xformers deep-gemm deep-ep flash-mla fla-core"
    " flash-linear-attention causal-conv1d mamba-ssm apex transformer-engine bitsandbytes compressed-tensors"
    " gptqmodel auto-gptq autoawq xgrammar outlines-core llguidance tokenizers"
    # models and numbers
    " transformers huggingface-hub safetensors accelerate numpy numba llvmlite"
    # processes, caches and transport
    " ray lmcache mooncake-transfer-engine nixl cupy-cuda12x cupy-cuda13x cuda-python cuda-bindings pynccl".split()
)
_FAMILIES = lazy_regex(r"(?:nvidia-|flashinfer|tensorrt|nvshmem|rocm-|amd-)")


def is_watched(package: str) -> bool:
    """By its normalised name."""
    return package in _NAMES or _FAMILIES.match(package) is not None
