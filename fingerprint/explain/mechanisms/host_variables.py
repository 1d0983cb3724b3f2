"""Variables of the host's allocators, of Python, of hubs of models and of the way to them."""

from fingerprint.explain.mechanisms.graph import Condition, Rule
from fingerprint.explain.mechanisms.variables import env

_MALLOC = "https://man7.org/linux/man-pages/man3/mallopt.3.html"
_HUB = "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables"
_SGLANG_SOURCE = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/environ.py"
_IN_KERNEL = (
    Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),
)
_WRITTEN = (
    Condition(facts="usage/main/write_bytes", sign="grew", says="the run wrote more, as a download does", least=1e6),
)


RULES: tuple[Rule, ...] = (
    Rule(
        name="malloc-arenas",
        sees=env("MALLOC_ARENA_MAX MALLOC_ARENA_TEST"),
        moves=("host memory", "cpu time"),
        phases=("host latency", "start-up", "any work"),
        breaks="seldom",
        why="How many arenas glibc keeps for threads, eight for each CPU unless told, of up to 64 MiB each: with "
        "many, freed memory stays in pieces (2.68 GiB became 0.46 with another allocator), with few, threads wait "
        "for each other's lock.",
        confirm="RSS of the process after an hour in both states",
        sources=(_MALLOC, "https://github.com/su-kaka/gcli2api/pull/395"),
    ),
    Rule(
        name="malloc-thresholds",
        sees=env("MALLOC_MMAP_THRESHOLD_ MALLOC_MMAP_MAX_ MALLOC_TRIM_THRESHOLD_ MALLOC_TOP_PAD_"),
        moves=("system calls", "host memory", "cpu time"),
        phases=("host latency", "decode step", "start-up", "any work"),
        shows=_IN_KERNEL,
        why="From which size on glibc maps each block by itself and when it gives memory back. Set, they no longer "
        "adapt: large buffers that come and go are mapped, zeroed and unmapped each time, page fault by page fault.",
        confirm="Minor page faults and system time of the run (usage/main/system) in both states",
        sources=(_MALLOC,),
    ),
    Rule(
        name="malloc-checks",
        sees=env("MALLOC_CHECK_ MALLOC_PERTURB_ MALLOC_TRACE PYTHONMALLOC PYTHONMALLOCSTATS"),
        moves=("cpu time", "host memory"),
        best=("absent", "0"),
        mostly=True,
        phases=("host latency", "decode step", "start-up", "any work"),
        breaks="seldom",
        why="Each allocation is filled, checked or written down, for a search of errors; Python's own can be handed "
        "to libc, which then has millions of small ones.",
        confirm="Start without it",
        sources=(_MALLOC, "https://docs.python.org/3/using/cmdline.html"),
    ),
    Rule(
        name="other-allocators",
        sees=env("MALLOC_CONF _RJEM_MALLOC_CONF JEMALLOC_* TCMALLOC_* MIMALLOC_*"),
        moves=("host memory", "cpu time", "page size", "system calls"),
        phases=("host latency", "decode step", "start-up", "any work"),
        shows=_IN_KERNEL,
        beside=("process/*/env/LD_PRELOAD",),
        why="Settings of an allocator that is loaded before libc's: how much freed memory each thread or CPU keeps, "
        "how soon the rest goes back, whether pages are huge, whether it profiles. Without that library nobody "
        "reads them.",
        confirm="grep -E 'jemalloc|tcmalloc|mimalloc' /proc/PID/maps; RSS and system time in both states",
        sources=(
            "https://github.com/jemalloc/jemalloc/blob/dev/TUNING.md",
            "https://github.com/gperftools/gperftools/blob/master/docs/tcmalloc.adoc",
            "https://github.com/microsoft/mimalloc/blob/main/readme.md",
        ),
    ),
    Rule(
        name="libc-tunables",
        sees=env("GLIBC_TUNABLES"),
        moves=("cpu time", "page size", "host memory", "code"),
        phases=("host latency", "decode step", "start-up", "transfer", "any work"),
        breaks="seldom",
        why="Tunables of glibc under one name: huge pages for the heap, arenas and caches of malloc, sizes from "
        "which copies go past the cache, which instructions of the CPU it may use. With another libc nobody reads "
        "it.",
        confirm="Compare the two values tunable by tunable; ld.so --list-tunables",
        sources=("https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html",),
    ),
    Rule(
        name="hub-offline",
        sees=env(
            "HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_DATASETS_OFFLINE HF_EVALUATE_OFFLINE DIFFUSERS_OFFLINE"
            " LLAMA_ARG_OFFLINE"
        ),
        moves=("network", "availability"),
        phases=("start-up", "host latency"),
        breaks="often",
        why="Offline a start asks nobody and takes what is at hand, and what is not ends it; online it asks for "
        "each file whether there is a newer one, waits where nobody answers, and may load another revision than "
        "yesterday.",
        confirm="The same start with 1 and the weights at hand; strace -f -e connect",
        sources=(_HUB,),
    ),
    Rule(
        name="hub-folders",
        sees=env(
            "HF_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE TRANSFORMERS_CACHE PYTORCH_TRANSFORMERS_CACHE"
            " HF_DATASETS_CACHE HF_ASSETS_CACHE HF_MODULES_CACHE HF_XET_CACHE SENTENCE_TRANSFORMERS_HOME TORCH_HOME"
            " MODELSCOPE_CACHE LLAMA_CACHE OLLAMA_MODELS OLLAMA_HOME VLLM_ASSETS_CACHE VLLM_MEDIA_CACHE"
            " VLLM_XLA_CACHE_PATH"
        ),
        moves=("storage", "network", "page cache"),
        phases=("start-up", "any work"),
        shows=_WRITTEN,
        told_by=("no-space-left",),
        breaks="often",
        why="Where weights, data and code of models are kept: an empty folder is filled over the network first, "
        "another disk or a network's reads slower, and one that cannot be written ends the start.",
        confirm="du and df of the folder in both states; a second start with the same one",
        sources=(_HUB,),
    ),
    Rule(
        name="hub-download",
        sees=env(
            "HF_HUB_ENABLE_HF_TRANSFER HF_XET_* HF_HUB_DISABLE_XET HF_HUB_DOWNLOAD_TIMEOUT HF_HUB_ETAG_TIMEOUT"
            " HF_ENDPOINT HF_HUB_DISABLE_SYMLINKS HF_TRANSFER_* VLLM_USE_MODELSCOPE SGLANG_USE_MODELSCOPE"
        ),
        moves=("network", "storage", "cpu time"),
        phases=("start-up", "transfer", "any work"),
        breaks="seldom",
        why="From where and how a model is fetched: many pieces at once or one after the other, by a library that "
        "may not be installed, which ends it. With the weights at hand it moves nothing.",
        confirm="A second start with the weights at hand: then it means nothing",
        drifted=1,
        sources=(_HUB,),
    ),
    Rule(
        name="hub-access",
        sees=env(
            "HF_TOKEN HUGGING_FACE_HUB_TOKEN HUGGINGFACE_HUB_TOKEN HF_TOKEN_PATH HF_HUB_DISABLE_IMPLICIT_TOKEN"
            " MODELSCOPE_API_TOKEN"
        ),
        moves=("availability", "network"),
        phases=("start-up",),
        breaks="often",
        why="Who asks the hub: without a token that was let in, a gated model ends the start, and strangers are "
        "served fewer requests an hour. With the weights at hand and offline it moves nothing.",
        confirm="The same start with HF_HUB_OFFLINE=1",
        sources=(_HUB,),
    ),
    Rule(
        name="weights-reading",
        sees=env(
            "HF_ENABLE_PARALLEL_LOADING HF_PARALLEL_LOADING_WORKERS HF_DEACTIVATE_ASYNC_LOAD SAFETENSORS_FAST_GPU"
            " RUNAI_STREAMER_* VLLM_FASTSAFETENSORS_QUEUE_SIZE VLLM_MODEL_REDIRECT_PATH VLLM_CI_USE_S3"
            " SGLANG_SORT_WEIGHT_FILES SGLANG_PREFETCH_BLOCK_SIZE_MB SGLANG_ENABLE_WEIGHT_LOADER_V2 AWS_ENDPOINT_URL"
            " S3_ENDPOINT_URL TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL"
        ),
        moves=("storage", "network", "host memory", "cpu time"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="How files of weights are read: by how many threads, in which order, in which pieces, straight to the "
        "GPU or through a buffer that is limited. Disks of a network want many readers, one slow disk wants one.",
        confirm="Time from start to loaded with a cold page cache, in both states",
        sources=("https://github.com/run-ai/runai-model-streamer/blob/master/docs/src/env-vars.md", _SGLANG_SOURCE),
    ),
    Rule(
        name="transformers-choices",
        sees=env(
            "USE_TF USE_TORCH USE_FLAX USE_JAX USE_HUB_KERNELS DISABLE_KERNEL_MAPPING TRANSFORMERS_USE_*"
            " HF_HUB_TRUST_REMOTE_CODE"
        ),
        moves=("code", "kernel choice"),
        phases=("prefill", "decode step", "start-up", "any work"),
        breaks="seldom",
        scripts=True,
        why="Which framework transformers imports and whether it fetches kernels of the hub for layers that it "
        "would compute by plain torch.",
        confirm="Start without it; kernel names of one step in both states",
        sources=("https://github.com/huggingface/transformers/blob/main/src/transformers/utils/import_utils.py",),
    ),
    Rule(
        name="hub-messages",
        sees=env(
            "HF_HUB_DISABLE_PROGRESS_BARS HF_HUB_DISABLE_SYMLINKS_WARNING HF_HUB_DISABLE_EXPERIMENTAL_WARNING"
            " HF_HUB_DISABLE_TELEMETRY HF_HUB_VERBOSITY HF_DEBUG TRANSFORMERS_VERBOSITY"
            " TRANSFORMERS_NO_ADVISORY_WARNINGS DATASETS_VERBOSITY HF_DATASETS_DISABLE_PROGRESS_BARS"
            " DIFFUSERS_VERBOSITY HF_HUB_USER_AGENT_ORIGIN HF_STORED_TOKENS_PATH HF_INFERENCE_ENDPOINT TQDM_*"
        ),
        moves=("cpu time",),
        phases=("start-up", "host latency"),
        unused=True,
        why="What the libraries of Hugging Face print and tell about themselves: it takes no part in a step.",
        confirm="Set it to the other run's value, then the same run",
        sources=(_HUB,),
    ),
    Rule(
        name="proxies",
        sees=env(
            "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY FTP_PROXY http_proxy https_proxy no_proxy all_proxy ftp_proxy"
        ),
        moves=("network", "availability"),
        phases=("host latency", "start-up", "transfer", "any work"),
        breaks="often",
        why="Clients in Python and curl send requests to localhost through a proxy too, unless it is named in "
        "NO_PROXY: answers come late or as 503, and a server that waits for its own health never gets ready. "
        "Without one, a hub may not be reached.",
        confirm="NO_PROXY=localhost,127.0.0.1 and the servers' addresses, then the same run",
        sources=("https://github.com/unslothai/unsloth/pull/6752",),
    ),
    Rule(
        name="certificates",
        sees=env(
            "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE NODE_EXTRA_CA_CERTS"
            " GIT_SSL_NO_VERIFY"
        ),
        moves=("availability", "network"),
        phases=("start-up", "host latency"),
        breaks="often",
        why="Which certificates a client trusts: with the wrong file each download fails, and a large one is read "
        "anew for each client that is made.",
        confirm="curl -v of the address with both values",
        sources=("https://github.com/psf/requests/blob/main/docs/user/advanced.rst",),
    ),
    Rule(
        name="python-hash-seed",
        sees=env("PYTHONHASHSEED"),
        moves=("workload", "storage"),
        phases=("prefill", "start-up", "host latency", "any work"),
        why="The seed settles in which order sets are gone through, and with it keys that are hashed anew: servers "
        "share a key-value cache, and processes a compiled graph, only where each has the same one.",
        confirm="PYTHONHASHSEED=0 in all processes of both runs; hit rate of the shared cache",
        sources=("https://docs.python.org/3/using/cmdline.html",),
    ),
    Rule(
        name="python-at-once",
        sees=env(
            "PYTHON_GIL PYTHON_JIT PYTHON_CPU_COUNT PYTHON_THREAD_INHERIT_CONTEXT PYTHON_TLBC PYTHONPERFSUPPORT"
            " PYTHON_PERF_JIT_SUPPORT"
        ),
        moves=("cpu time", "wake latency"),
        phases=("host latency", "decode step", "start-up", "any work"),
        breaks="seldom",
        why="Whether threads of one interpreter run side by side, whether it compiles what is hot, how many CPUs it "
        "believes that there are (pools take their size from it), and whether it tells a profiler of each function. "
        "Builds without the feature ignore it, or end.",
        confirm="python -c 'import os, sys; print(sys.flags, os.cpu_count())' in both states",
        sources=("https://docs.python.org/3/using/cmdline.html",),
    ),
    Rule(
        name="python-output",
        sees=env(
            "PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS PYTHONLEGACYWINDOWSSTDIO"
            " PYTHONCOERCECLOCALE PYTHON_COLORS PYTHON_HISTORY PYTHONNODEBUGRANGES PYTHONBREAKPOINT"
        ),
        moves=("system calls",),
        phases=("host latency", "decode step", "verify step", "start-up", "any work"),
        unused=True,
        why="How Python writes its lines and warnings: unbuffered is a system call for each, on the thread that "
        "prints. It takes no part in a step.",
        confirm="Start without it; count the lines that one step writes",
        drifted=1,
        sources=("https://docs.python.org/3/using/cmdline.html",),
    ),
    Rule(
        name="service-links",
        sees=env(
            "KUBERNETES_* *_SERVICE_HOST *_SERVICE_PORT *_SERVICE_PORT_* *_PORT_*_TCP *_PORT_*_TCP_* *_PORT_*_UDP*"
        ),
        moves=("network",),
        phases=("start-up", "host latency"),
        breaks="seldom",
        unused=True,
        why="Kubernetes tells each container the addresses of the services of its namespace, a handful of names for "
        "each. A program whose own variable is called alike takes the address for it, as vLLM its port.",
        confirm="enableServiceLinks: false, then the same start",
        sources=("https://docs.vllm.ai/en/stable/configuration/env_vars/",),
    ),
    Rule(
        name="installers",
        sees=env(
            "PIP_* UV_* POETRY_* CONDA_* MAMBA_* DEBIAN_FRONTEND APT_* GIT_* VIRTUAL_ENV_PROMPT SETUPTOOLS_* CI"
            " GITHUB_*"
        ),
        moves=("code",),
        phases=("start-up", "any work"),
        unused=True,
        why="Read while packages are installed or fetched: what is installed shows in the packages themselves. It "
        "takes no part in a run.",
        confirm="Compare the packages of both environments",
        drifted=1,
        sources=("https://docs.astral.sh/uv/reference/environment/",),
    ),
)
