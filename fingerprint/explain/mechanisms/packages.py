"""The packages of a Python environment, by what they do in a step."""

from fingerprint.explain.mechanisms.graph import OPERATIONS, Condition, Phase, Rule

_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")
_HOST: tuple[Phase, ...] = ("host latency", "prefill", "decode step", "verify step", "start-up", "any work")
_RECORD = "https://packaging.python.org/en/latest/specifications/recording-installed-packages/"
_SWAP = "pip install of the other run's version of this one package, and the same run"
_ORIGIN = ("url", "commit", "archive")
_ENGINES = (
    "vllm vllm-* sglang sglang-* tensorrt* lmdeploy text-generation* llama-cpp-python mlc-llm ktransformers lmcache "
    "exllamav* tabbyapi lightllm ai-dynamo* mlx mlx-lm aphrodite-engine"
)


def packages(names: str) -> tuple[str, ...]:
    """Globs of what tells one build of these packages from another."""
    told = (f"libraries/*/packages/{name}/{fact}" for name in names.split() for fact in ("version", "record"))
    came = (f"libraries/*/origins/{name}/{fact}" for name in names.split() for fact in _ORIGIN)
    return (*told, *came)


def trees(names: str) -> tuple[str, ...]:
    """Globs of what tells one state of a checkout that these packages are imported from."""
    return tuple(f"libraries/*/origins/{name}/tree/{fact}" for name in names.split() for fact in ("commit", "dirty"))


RULES: tuple[Rule, ...] = (
    Rule(
        name="package-torch",
        operations=OPERATIONS,
        sees=packages("torch pytorch jax jaxlib"),
        moves=("kernel choice", "launch latency", "gpu memory", "code"),
        breaks="often",
        usual=(1.05, 4.0),
        beside=("libraries/*/packages/nvidia-cudnn-cu*/version", "driver/module/version"),
        told_by=("cuda-no-kernel-image", "symbol-missing", "torch-without-cuda"),
        why="The framework chooses kernels and brings along the compiler and the libraries that they come from: a "
        "default of TF32 changed, a convolution left cuDNN (4x). The part of the version behind `+` names the CUDA it "
        "was built for, which alone made 37.9 into 47.7.",
        confirm=f"{_SWAP}; Triton alone first, since it comes along with torch",
        confirmed=4,
        sources=(
            "https://github.com/pytorch/pytorch/issues/166122",
            "https://github.com/pytorch/pytorch/issues/119458",
            "https://github.com/pytorch/pytorch/issues/118349",
            "https://github.com/pytorch/pytorch/issues/146096",
        ),
    ),
    Rule(
        name="package-frameworks",
        operations=OPERATIONS,
        scripts=True,
        sees=packages(
            "tensorflow* tf-nightly* keras onnxruntime* openvino* paddlepaddle* mxnet* ctranslate2 torch-xla* "
            "torch-npu torch-neuronx* torch-tensorrt* intel-extension-for-* mindspore tinygrad cupy caffe* optimum*"
        ),
        moves=("kernel choice", "launch latency", "gpu memory", "cpu time", "code"),
        breaks="often",
        beside=("libraries/*/packages/nvidia-cudnn-cu*/version", "driver/module/version"),
        why="What executes the model where neither torch nor an engine does: it chooses kernels and devices, and a "
        "release that no longer finds the GPU's libraries computes on the CPU.",
        confirm=f"{_SWAP}; its log names the device at the start",
        sources=("https://onnxruntime.ai/docs/execution-providers/", "https://www.tensorflow.org/install/source"),
    ),
    Rule(
        name="package-triton",
        sees=packages("triton triton-* pytorch-triton* tilelang"),
        moves=("kernel choice", "launch latency", "gpu memory"),
        breaks="often",
        usual=(1.05, 3.0),
        beside=("libraries/*/packages/torch/version", "driver/module/version"),
        told_by=("ptx-too-new", "experts-tuned-for-another", "kernel-too-large"),
        why="It compiles the engines' kernels of experts, attention and quantised weights anew in each release: one of "
        "them came out worse under 3.6 (707 to 390 tok/s), another took a single warp for small batches. It comes "
        "along with torch, and the files in which engines keep what they tuned are of one release of it.",
        confirm=f"{_SWAP}, with the same torch; a profile of one step names the kernels",
        confirmed=6,
        sources=(
            "https://github.com/vllm-project/vllm/issues/43153",
            "https://github.com/sgl-project/sglang/pull/24281",
            "https://github.com/vllm-project/vllm/pull/39236",
            "https://github.com/sgl-project/sglang/pull/2611",
            "https://github.com/SemiAnalysisAI/InferenceX/pull/854",
            "https://github.com/intel/torch-xpu-ops/issues/4074",
        ),
    ),
    Rule(
        name="package-nccl",
        sees=packages("nvidia-nccl-* pynccl nvidia-nvshmem-* nvshmem* nixl* mooncake-transfer-engine deep-ep"),
        moves=("collective", "gpu memory", "availability"),
        between=True,
        breaks="often",
        usual=(1.05, 10.0),
        beside=("process/*/env/NCCL_*", "process/*/env/LD_LIBRARY_PATH"),
        why="Each release chooses algorithms, protocols and channels anew and changes defaults; one was bimodal (4.12 "
        "or 2.58), one took a ring over one port where four were used before (50 to 7). It comes along with torch.",
        confirm=f"{_SWAP}; NCCL_DEBUG=VERSION tells which copy was really loaded",
        confirmed=4,
        sources=(
            "https://github.com/NVIDIA/TensorRT-LLM/pull/17160",
            "https://github.com/NVIDIA/nccl/issues/1876",
            "https://github.com/NVIDIA/nccl/issues/770",
        ),
    ),
    Rule(
        name="package-cuda-math",
        operations=OPERATIONS,
        sees=packages("nvidia-cublas* nvidia-cudnn* cutlass* nvidia-cutlass*"),
        moves=("kernel choice", "gpu memory", "code"),
        breaks="often",
        usual=(1.05, 250.0),
        why="They choose the kernel of each product, convolution and attention by their own rules and tables, anew in "
        "each release; one that is too old for a path or missing leaves a slow one, up to the CPU's (57.8 to 12.9). "
        "One product of odd shape took 250 times as long.",
        confirm=f"{_SWAP}; a profile of one step names the kernels",
        confirmed=5,
        drifted=1,
        sources=(
            "https://github.com/pytorch/pytorch/issues/114911",
            "https://github.com/daydreamlive/scope/pull/321",
            "https://github.com/ggml-org/llama.cpp/issues/26024",
            "https://github.com/apache/mxnet/issues/14838",
            "https://github.com/pytorch/pytorch/issues/47039",
        ),
    ),
    Rule(
        name="package-cuda-science",
        sees=packages("nvidia-cusparse* nvidia-cufft* nvidia-cusolver* nvidia-curand* cupy-*"),
        moves=("kernel choice",),
        phases=("any work",),
        breaks="seldom",
        why="Transforms, sparse products, solvers and random numbers: what simulations call, and a step of a language "
        "model does not. They come along with torch.",
        confirm=_SWAP,
        drifted=1,
        sources=("https://docs.nvidia.com/cuda-libraries/index.html",),
    ),
    Rule(
        name="package-cuda-runtime",
        sees=packages("nvidia-cuda-* nvidia-nvjitlink-* nvidia-nvtx-* cuda-python cuda-bindings"),
        moves=("kernel choice", "launch latency", "gpu initialisation", "availability"),
        breaks="often",
        beside=("driver/libraries/cuda", "driver/module/version"),
        why="The run time and the run-time compiler: kernels that are generated at the start come from it, and one "
        "newer than the driver works in compatibility, compiles again, or not at all.",
        confirm=_SWAP,
        drifted=2,
        sources=("https://docs.nvidia.com/deploy/cuda-compatibility/",),
    ),
    Rule(
        name="package-attention",
        operations=r"attn|attention|(^|_)mla(_|$)|sampling",
        sees=packages(
            "flashinfer* flash-attn* vllm-flash-attn xformers flash-mla fla-core flash-linear-attention "
            "causal-conv1d mamba-ssm sgl-kernel sglang-kernel sageattention* spas-sage-attn"
        ),
        moves=("kernel choice", "launch latency", "gpu memory"),
        phases=_STEPS,
        breaks="often",
        usual=(1.02, 1.5),
        told_by=("sampling-without-flashinfer", "without-flash-attention", "symbol-missing"),
        why="The kernels of attention and sampling themselves. A release takes other tiles and other paths for a "
        "device; where it is missing, the engine falls back to another backend, and its log is all that says so.",
        confirm=f"{_SWAP}; the engine's log names the backend",
        confirmed=2,
        drifted=1,
        sources=(
            "https://github.com/vllm-project/vllm/issues/44808",
            "https://github.com/sgl-project/sglang/pull/31625",
        ),
    ),
    Rule(
        name="package-matrix-kernels",
        sees=packages(
            "deep-gemm* transformer-engine* bitsandbytes compressed-tensors gptqmodel auto-gptq autoawq apex torchao "
            "aiter amd-aiter liger-kernel"
        ),
        moves=("kernel choice", "gpu memory"),
        phases=_STEPS,
        breaks="often",
        usual=(1.02, 1.7),
        why="Kernels of quantised weights and of experts, and the heuristics that choose among them. Another release "
        "may read a checkpoint's format by a slower path.",
        confirm=f"{_SWAP}; a profile of one step names the kernels",
        drifted=1,
        sources=("https://docs.vllm.ai/en/stable/features/quantization/",),
    ),
    Rule(
        name="package-engine",
        sees=(*packages(_ENGINES), *trees(_ENGINES)),
        moves=("code", "kernel choice", "launch latency", "gpu memory", "accept length"),
        breaks="often",
        usual=(1.02, 5.5),
        beside=("libraries/*/packages/torch/version", "libraries/*/packages/triton/version"),
        why="Another release schedules, captures and chooses kernels otherwise: 1.02 to 5.5x on record, median 1.8. "
        "Flags and variables lose their names, a backend went behind a new flag (prefill attention 813 to 4,486). "
        "Often what came along with it was the cause and the engine innocent. A checkout is another state of it "
        "with each commit.",
        confirm="The other release with this one's torch, Triton and FlashInfer; then git bisect",
        confirmed=5,
        sources=(
            "https://github.com/vllm-project/vllm/issues/39965",
            "https://github.com/vllm-project/vllm/issues/50292",
            "https://github.com/sgl-project/sglang/issues/28300",
            "https://github.com/sgl-project/sglang/issues/28224",
            "https://github.com/ROCm/vllm/pull/1169",
        ),
    ),
    Rule(
        name="package-loading",
        sees=packages("huggingface-hub hf-xet hf-transfer safetensors runai-model-streamer* modelscope fsspec"),
        moves=("storage", "page cache", "code"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="They find, fetch and read the files of a model, before the first step and not again.",
        confirm=f"{_SWAP}; the start with the model's files in the page cache",
        drifted=10,
        sources=("https://huggingface.co/docs/safetensors/index",),
    ),
    Rule(
        name="package-models",
        scripts=True,
        sees=packages("transformers diffusers sentence-transformers"),
        moves=("code", "workload", "host memory", "accept length"),
        breaks="often",
        shows=(Condition(facts="memory/vmstat/pswpout", sign="grew", says="pages went out to swap"),),
        why="Definitions of models, their defaults and how weights are loaded: an import that failed made a fallback "
        "load the weights a second time, into swap; a cache took four times as much; a changed chat template is "
        "another prompt.",
        confirm=_SWAP,
        confirmed=3,
        drifted=8,
        sources=(
            "https://github.com/jundot/omlx/issues/429",
            "https://github.com/sgl-project/sglang/issues/25315",
            "https://github.com/foundation-model-stack/fms-hf-tuning/pull/202",
        ),
    ),
    Rule(
        name="package-training",
        scripts=True,
        sees=packages(
            "accelerate deepspeed peft trl lightning pytorch-lightning megatron-core nemo-toolkit horovod torchtitan "
            "colossalai* fairscale axolotl unsloth* verl openrlhf"
        ),
        moves=("gpu memory", "collective", "cpu time", "code"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="They shard a model that is trained, overlap its collectives and feed it. An engine that serves installs "
        "some of them and calls none in a step.",
        confirm=f"{_SWAP}; a profile of one training step",
        drifted=2,
        sources=("https://www.deepspeed.ai/docs/config-json/",),
    ),
    Rule(
        name="package-front-end",
        sees=packages(
            "tokenizers tiktoken sentencepiece uvloop uvicorn fastapi starlette pydantic* orjson msgspec pyzmq zmq "
            "ray grpcio protobuf aiohttp httptools"
        ),
        moves=("cpu time", "wake latency", "code"),
        phases=_HOST,
        breaks="seldom",
        why="Tokenising, HTTP and messages between processes run on CPUs between and before "
        "steps: they show where the GPU waits for the host, not in its kernels.",
        confirm=f"{_SWAP}; py-spy of the front end during the run",
        drifted=12,
        sources=("https://docs.vllm.ai/en/stable/configuration/optimization/",),
    ),
    Rule(
        name="package-presence",
        sees=("libraries/*/packages/*",),
        moves=("code", "kernel choice", "availability"),
        best=("present",),
        mostly=True,
        breaks="often",
        told_by=("module-missing", "sampling-without-flashinfer", "without-flash-attention"),
        why="A package that is imported and is not there ends the start; of what is asked for and done without, as "
        "FlashInfer or FlashAttention, something slower is done instead. What is new is seldom used by itself.",
        confirm="python -c 'import NAME' in both environments; the start's log names what it does without",
        sources=("https://docs.python.org/3/library/importlib.html",),
    ),
    Rule(
        name="package-constrained-output",
        sees=packages("xgrammar outlines* llguidance lm-format-enforcer interegular"),
        moves=("cpu time", "wake latency", "kernel choice"),
        phases=_HOST,
        breaks="seldom",
        operations=r"structur|guided|constrain|grammar|json|regex|tool_call",
        why="Of answers in a given form each token is chosen among those that a grammar allows: its mask is worked "
        "out on CPUs in each step, and compiled before the first token. Other answers never ask for one.",
        confirm=f"{_SWAP}; the same requests without a grammar beside it",
        drifted=2,
        sources=("https://docs.vllm.ai/en/stable/features/structured_outputs/",),
    ),
    Rule(
        name="package-numbers",
        sees=packages("numpy scipy numba llvmlite mkl* intel-openmp* opencv-* pillow* datasets torchdata nvidia-dali*"),
        moves=("cpu time", "code"),
        phases=_HOST,
        breaks="seldom",
        beside=("process/*/env/OMP_NUM_THREADS",),
        why="Arithmetic on the host, and what prepares samples there: another build brings another BLAS and another "
        "OpenMP with threads of its own.",
        confirm=f"{_SWAP}; threadpoolctl tells which libraries it loads",
        drifted=10,
        sources=("https://numpy.org/doc/stable/building/blas_lapack.html",),
    ),
    Rule(
        name="package-pynvml",
        sees=packages("pynvml nvidia-ml-py"),
        moves=("code", "system calls"),
        phases=("start-up", "host latency", "any work"),
        why="The distribution called pynvml is deprecated: it hides nvidia-ml-py's module of that name, and torch and "
        "the engines warn of it at each start.",
        confirm="pip uninstall pynvml; pip install nvidia-ml-py",
        drifted=5,
        sources=("https://pypi.org/project/pynvml/",),
    ),
    Rule(
        name="package-other",
        sees=("libraries/*/packages", *packages("*"), "libraries/*/origins"),
        moves=("code",),
        unused=True,
        why="Other code, where the program imports it at all; most packages of an environment are not on the path of a "
        "step.",
        confirm=f"{_SWAP}; sys.modules tells whether it is imported",
        drifted=13,
        sources=(_RECORD,),
    ),
)
