"""Variables of engines that say which kernels compute a layer, in which numbers, and how they follow each other."""

from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.variables import env

_VLLM = "https://docs.vllm.ai/en/stable/configuration/env_vars/"
_SGLANG = "https://docs.sglang.io/references/environment_variables.html"
_SGLANG_SOURCE = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/environ.py"
_TRTLLM = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/common/envUtils.cpp"
_LLAMA_BUILD = "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")


RULES: tuple[Rule, ...] = (
    Rule(
        name="repeatable-kernels",
        sees=env(
            "VLLM_BATCH_INVARIANT SGLANG_ENABLE_DETERMINISTIC_INFERENCE SGLANG_DETERMINISTIC_NCCL_NCHANNELS"
            " SGLANG_USE_1STAGE_ALLREDUCE SGLANG_DSA_TOPK_FLASHINFER_DETERMINISTIC FORCE_DETERMINISTIC"
            " FORCE_MOE_KERNEL_DETERMINISTIC FORCE_ATTENTION_KERNEL_DETERMINISTIC FORCE_ALL_REDUCE_DETERMINISTIC"
        ),
        moves=("kernel choice", "collective", "launch latency"),
        best=("absent", "0", "false", "False"),
        mostly=True,
        phases=_STEPS,
        breaks="seldom",
        why="So that an answer does not depend on what else is in the batch, products, norms, attention and "
        "all-reduce sum in a fixed order: tuned and split kernels are given up. From -0.6 % of a small model to "
        "kernels that are 3 to 6 times slower where their tiles were fixed for another batch.",
        confirm="Unset it, then the same run; names of the matrix kernels of one step in both states",
        sources=(
            "https://docs.vllm.ai/en/stable/features/batch_invariance/",
            "https://github.com/vllm-project/vllm/pull/28161",
            "https://github.com/vllm-project/vllm/pull/57586",
            "https://docs.sglang.io/advanced_features/deterministic_inference.html",
        ),
    ),
    Rule(
        name="deep-gemm",
        sees=env(
            "VLLM_USE_DEEP_GEMM VLLM_MOE_USE_DEEP_GEMM VLLM_USE_DEEP_GEMM_E8M0 VLLM_USE_DEEP_GEMM_E8M0_HOPPER"
            " VLLM_USE_DEEP_GEMM_TMA_ALIGNED_SCALES SGLANG_ENABLE_JIT_DEEPGEMM SGL_ENABLE_JIT_DEEPGEMM"
            " SGLANG_USE_DEEPGEMM_BMM SGLANG_DEEPGEMM_STANDARD_LAYOUT"
        ),
        moves=("kernel choice",),
        phases=_STEPS,
        breaks="seldom",
        beside=("gpu/*/name",),
        why="Whether products and experts in FP8 go through DeepGEMM or through CUTLASS or Triton. It is compiled "
        "for each shape when that is met first, and it suits some sizes of a batch better than others; other scales "
        "are another accuracy.",
        confirm="The engine's log at the start names the backend of linear layers and experts; the same run with 0",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="warm-up-of-kernels",
        sees=env(
            "VLLM_DEEP_GEMM_WARMUP SGLANG_JIT_DEEPGEMM_PRECOMPILE SGL_JIT_DEEPGEMM_PRECOMPILE"
            " SGLANG_JIT_DEEPGEMM_FAST_WARMUP SGLANG_JIT_DEEPGEMM_COMPILE_WORKERS SGL_JIT_DEEPGEMM_COMPILE_WORKERS"
            " SGLANG_IN_DEEPGEMM_PRECOMPILE_STAGE SGLANG_PP_PARALLEL_DEEPGEMM_WARMUP SGLANG_DG_USE_NVRTC"
            " SGLANG_DISABLE_FA4_WARMUP SGLANG_FLASHINFER_AUTOTUNE_CACHE SGLANG_FLASHINFER_AUTOTUNE_EXTEND"
        ),
        moves=("kernel choice", "cpu time"),
        phases=("start-up", "prefill", "decode step", "host latency", "any work"),
        usual=(1.1, 10.0),
        why="What is compiled and tuned before the first request, and what in the middle of one: SGLang's fast "
        "warm-up makes 30 minutes of a start into less than 3, and shapes that it left out are compiled while a "
        "request waits, in the window that is timed.",
        confirm="Send the run's own shapes twice and time the second; list what was written into the JIT cache "
        "meanwhile",
        sources=(_SGLANG, _SGLANG_SOURCE),
    ),
    Rule(
        name="amd-kernel-library",
        sees=env(
            "VLLM_ROCM_USE_AITER VLLM_ROCM_USE_AITER_* VLLM_ROCM_AITER_* SGLANG_USE_AITER SGLANG_USE_AITER_*"
            " SGLANG_AITER_* SGLANG_OPT_USE_AITER_*"
        ),
        moves=("kernel choice",),
        phases=_STEPS,
        breaks="often",
        why="AITER is AMD's library of kernels for attention, experts, norms and products: the first of these turns "
        "all of it on, the others single kernels, which do nothing without it. On a part that it was not made for "
        "the start fails.",
        confirm="The engine's log names the backends; the same run with the first of them at 0",
        sources=(
            "https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/vllm-v1-optimization.html",
            "https://github.com/ROCm/aiter/issues/3294",
        ),
    ),
    Rule(
        name="unpacked-weights",
        sees=env(
            "VLLM_TEST_FORCE_FP8_MARLIN VLLM_MARLIN_INPUT_DTYPE VLLM_USE_NVFP4_CT_EMULATIONS"
            " VLLM_MXFP8_EMULATION_DEQUANT_AT_LOAD SGLANG_FORCE_FP8_MARLIN SGLANG_DSV4_FP4_DEQUANT"
            " SGLANG_FLASHINFER_CUTEDSL_NVFP4_W4A16 VLLM_DISABLED_KERNELS"
        ),
        moves=("kernel choice", "gpu compute"),
        phases=_STEPS,
        breaks="seldom",
        why="Whether tensor cores multiply the packed numbers, or each kernel unpacks the weights to 16 bit first. "
        "Unpacked, a decode step still reads few bytes, but prefill and large batches lose the faster cores; an "
        "emulation is slower in both.",
        confirm="The log names the kernel of the quantised layers; prefill and decode apart in both states",
        sources=(_VLLM, _SGLANG),
    ),
    Rule(
        name="numbers-made-smaller-at-load",
        sees=env(
            "SGLANG_INT4_WEIGHT SGLANG_CPU_QUANTIZATION SGLANG_USE_DYNAMIC_MXFP4_LINEAR"
            " SGLANG_NVFP4_CKPT_FP8_GEMM_IN_ATTN SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE SGLANG_FP8_IGNORED_LAYERS"
            " SGLANG_FP4_IGNORED_LAYERS SGLANG_QUANT_ALLOW_DOWNCASTING VLLM_HUMMING_* SGLANG_HUMMING_*"
            " SGLANG_DSV4_FP4_EXPERTS"
        ),
        moves=("gpu memory bandwidth", "gpu compute", "gpu memory", "accept length"),
        breaks="seldom",
        why="Which layers are quantised while they are loaded, or left as they are: a decode step reads the bytes "
        "that they have then, and a draft whose numbers are coarser is accepted less often.",
        confirm="Memory of the weights as the log tells it after loading, in both states",
        sources=(_SGLANG, _SGLANG_SOURCE),
    ),
    Rule(
        name="sums-of-products",
        sees=env(
            "VLLM_FLOAT32_MATMUL_PRECISION VLLM_HUMMING_USE_F16_ACCUM SGLANG_HUMMING_USE_F16_ACCUM"
            " SGLANG_OPT_BF16_FP32_GEMM_ALGO GGML_CUDA_CUBLAS_COMPUTE_TYPE GGML_CUDA_FORCE_CUBLAS_COMPUTE_*"
            " GGML_CUDA_MMQ_PREC"
        ),
        moves=("kernel choice", "gpu compute"),
        phases=("prefill", "decode step", "verify step", "any work"),
        why="In which format products are multiplied and summed: 32 bit instead of TF32 or 16 bit leaves the tensor "
        "cores' faster modes unused, mostly in prefill. Consumer cards sum in 32 bit at half the rate.",
        confirm="Kernel names of one prefill in a trace of both states",
        sources=(_VLLM, _LLAMA_BUILD),
    ),
    Rule(
        name="latent-attention-off",
        sees=env("VLLM_MLA_DISABLE"),
        moves=("gpu memory", "gpu memory bandwidth", "kernel choice"),
        best=("absent", "0"),
        read_by=("vllm",),
        breaks="seldom",
        why="Without latent attention each head's keys and values are cached in full instead of one short vector: "
        "several times the memory for a token, so fewer requests at once, and as many more bytes for each step.",
        confirm="Tokens of the key-value cache as the log tells them, in both states",
        sources=(_VLLM,),
    ),
    Rule(
        name="sampler-kernels",
        sees=env(
            "VLLM_USE_FLASHINFER_SAMPLER VLLM_XPU_USE_SAMPLER_KERNEL SGLANG_OPT_USE_GUMBEL_SAMPLE"
            " SGLANG_SANITIZE_NAN_LOGITS SGLANG_DSPARK_FAST_SAMPLING SGLANG_SYNC_TOKEN_IDS_ACROSS_TP"
            " LLAMA_ARG_BACKEND_SAMPLING"
        ),
        moves=("kernel choice", "launch latency", "cpu time"),
        phases=("decode step", "verify step", "start-up", "any work"),
        breaks="seldom",
        why="How a token is drawn from the logits: FlashInfer's kernel rejects without sorting the vocabulary, "
        "torch's sorts it, llama.cpp's own loop runs on the host. FlashInfer compiles its kernel at the first use "
        "and needs a compiler for it.",
        confirm="The log names the sampler; the same run with temperature 0, which needs none",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="cache-layout",
        sees=env(
            "VLLM_KV_CACHE_LAYOUT SGLANG_USE_HND_KVCACHE SGLANG_AITER_KV_CACHE_LAYOUT"
            " VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT VLLM_SSM_CONV_STATE_LAYOUT VLLM_USE_PACKED_HMA_KV_CACHE"
        ),
        moves=("kernel choice", "network"),
        phases=("prefill", "decode step", "verify step", "transfer", "any work"),
        breaks="seldom",
        why="In which order heads, tokens and blocks lie in the cache: each attention kernel has an order that it "
        "reads straight, and transfers between servers of unlike parallelism need whole heads side by side.",
        confirm="The log names layout and attention backend in both states",
        sources=(_VLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="second-streams",
        sees=env(
            "VLLM_DISABLE_SHARED_EXPERTS_STREAM VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD"
            " VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD VLLM_LORA_ENABLE_DUAL_STREAM SGLANG_ROCM_USE_MULTI_STREAM"
            " SGLANG_NPU_USE_MULTI_STREAM SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"
            " SGLANG_BLACKWELL_OVERLAP_SHARED_EXPERTS_OUTSIDE_SBO SGLANG_ENABLE_PCG_DSV2_DUAL_STREAM"
            " SGLANG_DSPARK_ENABLE_MULTI_STREAM SGLANG_ENABLE_QWEN_DEEPEP_SHARED_OVERLAP"
            " DISABLE_MOE_SHARED_EXPERTS_CUDA_STREAM"
        ),
        moves=("launch latency", "kernel choice"),
        phases=("decode step", "verify step", "any work"),
        usual=(1.01, 1.06),
        beside=("process/*/env/GPU_MAX_HW_QUEUES", "process/*/env/CUDA_DEVICE_MAX_CONNECTIONS"),
        why="Whether small kernels that do not need each other, as shared and routed experts, run side by side: "
        "23.35 to 22.09 ms a token on eight B200. With few queues or on AMD they waited for each other instead, and "
        "it cost.",
        confirm="Two rows of kernels in a trace of one decode step, in both states",
        sources=("https://github.com/vllm-project/vllm/pull/26440", "https://github.com/vllm-project/vllm/pull/30085"),
    ),
    Rule(
        name="launches-ahead",
        sees=env(
            "TRTLLM_ENABLE_PDL TRTLLM_ENABLE_TRTLLMGEN_MOE_ROUTING_RENORM_PDL SGLANG_DEEPGEMM_PDL"
            " SGLANG_TRTLLM_MOE_PDL_MAX_TOKENS VLLM_LORA_DISABLE_PDL"
        ),
        moves=("launch latency",),
        phases=("decode step", "verify step", "any work"),
        why="From Hopper on a kernel may be set up while the one before it still runs, which hides a few "
        "microseconds of each of hundreds of short ones. A kernel that does not wait for what it needs computes "
        "with what was there before.",
        confirm="Gaps between kernels in a trace of one decode step, in both states",
        sources=(_TRTLLM, _SGLANG_SOURCE),
    ),
    Rule(
        name="sglang-fused-kernels",
        sees=env(
            "SGLANG_OPT_* SGLANG_FORCE_FUSED_OP_BACKEND SGLANG_FUSED_MLA_ENABLE_ROPE_FUSION"
            " SGLANG_USE_FUSED_METADATA_COPY SGLANG_ENABLE_GDN_DECODE_FUSED_PROJ_CONV SGLANG_K3_* SGLANG_MINIMAX_*"
            " SGLANG_ENABLE_SPLITKV_VERIFY SGLANG_MLA_DECODE_TUNE SGLANG_DISABLE_DSA_INDEXER_FUSION"
            " USE_TRITON_W8A8_FP8_KERNEL SGLANG_MOE_PADDING"
        ),
        moves=("kernel choice", "launch latency"),
        phases=_STEPS,
        read_by=("sglang",),
        breaks="seldom",
        why="A kernel that does several steps of a layer at once, for one family of models mostly: switched off, or "
        "where the model is of another family, the steps run one by one. The backend `torch` of fused operations is "
        "plain code for comparison.",
        confirm="Number of kernels of one layer in a trace of both states",
        sources=(_SGLANG_SOURCE,),
    ),
    Rule(
        name="first-tuning-taken",
        sees=env(
            "VLLM_TRITON_FORCE_FIRST_CONFIG VLLM_USE_FUSED_MOE_GROUPED_TOPK VLLM_MARLIN_USE_ATOMIC_ADD"
            " VLLM_FUSED_MOE_CHUNK_SIZE VLLM_ENABLE_FUSED_MOE_ACTIVATION_CHUNKING VLLM_USE_OINK_OPS"
            " VLLM_USE_TRITON_AWQ"
        ),
        moves=("kernel choice",),
        phases=_STEPS,
        read_by=("vllm",),
        breaks="seldom",
        why="Which of several kernels for one product or one choice of experts runs, or that the first of the "
        "tunings is taken without a try, as tests do.",
        confirm="Unset it; kernel times of one step in a trace of both states",
        sources=(_VLLM,),
    ),
)
