"""Serving engines: what they do without, and what they have not enough of."""

from fingerprint.said.message import Message

RETRACTED = "https://docs.sglang.ai/advanced_features/hyperparameter_tuning.html"
PREEMPTED = "https://docs.vllm.ai/en/latest/configuration/optimization.html"

MESSAGES = (
    Message(
        "gpu-memory-full",
        (
            b"CUDA out of memory",
            b"HIP out of memory",
            b"CUDA error: out of memory",
            b"cudaMalloc failed: out of memory",
        ),
        "resource",
        "a GPU's memory was used up",
        "https://github.com/ollama/ollama/issues/8377",
    ),
    Message(
        "no-cache-blocks",
        (b"No available memory for the cache blocks",),
        "resource",
        "weights leave no memory of the GPU for a key-value cache",
        "https://github.com/vllm-project/vllm/issues/17431",
    ),
    Message(
        "cache-below-context",
        (b"larger than the maximum number of tokens that can be stored in KV cache",),
        "resource",
        "the key-value cache does not hold one sequence of the length that is asked for",
        PREEMPTED,
    ),
    Message(
        "requests-preempted",
        (b"is preempted by PreemptionMode", b"KV cache pool is full. Retract requests"),
        "resource",
        "requests were put back, for the key-value cache was full: their tokens are computed again",
        RETRACTED,
    ),
    Message(
        "experts-untuned",
        (b"Using default MoE config", b"Using default MoE kernel config"),
        "cause",
        "no file tells how the kernels of the experts are best run on this GPU",
        "https://github.com/vllm-project/vllm/issues/17619",
    ),
    Message(
        "experts-tuned-for-another",
        (b"Fallback to triton version",),
        "cause",
        "the kernels of the experts are run as was best under another Triton",
        "https://github.com/sgl-project/sglang/pull/19003",
    ),
    Message(
        "blocks-untuned",
        (b"Using default W8A8 Block FP8 kernel config",),
        "cause",
        "no file tells how products in blocks of FP8 are best computed on this GPU",
        "https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/quantization/utils/fp8_utils.py",
    ),
    Message(
        "without-graphs",
        (b"Cudagraph is disabled under eager mode", b"uda graph is disabled because", b"fallback to the eager mode"),
        "cause",
        "no step is captured in a graph: each kernel is launched by itself",
        "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/server_args.py",
    ),
    Message(
        "sampling-without-flashinfer",
        (b"FlashInfer is not available. Falling back",),
        "cause",
        "tokens are sampled by PyTorch, for FlashInfer is not installed",
        "https://github.com/vllm-project/vllm/blob/main/vllm/v1/sample/ops/topk_topp_sampler.py",
    ),
    Message(
        "without-flash-attention",
        (b"Cannot use FlashAttention",),
        "resource",
        "another attention kernel is used than the fastest one",
        "https://github.com/vllm-project/vllm/blob/main/vllm/platforms/cuda.py",
    ),
    Message(
        "weights-only-fp8",
        (b"does not have native support for FP8 computation",),
        "resource",
        "the GPU computes in no FP8: only weights are kept in it",
        "https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/quantization/utils/marlin_utils_fp8.py",
    ),
    Message(
        "no-gpu-used",
        (b"no usable GPU found", b"no compatible GPUs were discovered"),
        "resource",
        "the engine found no GPU, and computes on the CPU",
        "https://github.com/ggml-org/llama.cpp/blob/master/common/arg.cpp",
    ),
    Message(
        "one-thread-each",
        (b"Setting OMP_NUM_THREADS environment variable for each process",),
        "cause",
        "torchrun gives each process one thread, for OMP_NUM_THREADS is not set",
        "https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py",
    ),
    Message(
        "threads-reduced",
        (b"Reducing Torch parallelism from",),
        "cause",
        "the engine gives each worker one thread, for OMP_NUM_THREADS is not set",
        "https://github.com/vllm-project/vllm/blob/main/vllm/v1/executor/multiproc_executor.py",
    ),
)
