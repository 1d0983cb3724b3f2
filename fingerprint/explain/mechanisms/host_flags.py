"""Flags of servers and benchmarks about the host's part: memory, threads, the front end, what is asked."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import LEVELS, Phase, Rule
from fingerprint.explain.mechanisms.server_flags import LLAMA, SGLANG, TRTLLM, VLLM, flag

_HOST: tuple[Phase, ...] = ("host latency", "decode step", "verify step", "prefill", "start-up", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="layers-on-the-gpu",
        sees=flag(
            "-ngl --n-gpu-layers --gpu-layers --num-gpu -ncmoe --n-cpu-moe -cmoe --cpu-moe -ncffn --n-cpu-ffn -ot"
            " --override-tensor -nkvo --*kv-offload -kvo --*op-offload -nopo --mmproj-offload --no-mmproj-offload"
            " --moe-cache --moe-cache-mib"
        ),
        moves=("cpu time", "host memory bandwidth", "pcie link", "gpu memory"),
        read_by=("llama.cpp",),
        breaks="often",
        usual=(1.1, 6.7),
        beside=("gpu/*/memory/total", "memory/total"),
        told_by=("gpu-memory-full",),
        why="What is not on the GPU is computed by the CPU, at the speed of the host's memory: 6.7x with layers left "
        "out by mistake. One layer more than fits, and the rest is moved for each token.",
        confirm="The log's line of layers that were offloaded, and the sizes of the buffers, in both runs",
        confirmed=1,
        sources=(LLAMA, "https://github.com/ggml-org/llama.cpp/issues/2641"),
    ),
    Rule(
        name="weights-from-the-host",
        sees=flag(
            "--cpu-offload-* --offload-* --*swap-space --kv-offloading-* --kt-* --enable-paged-experts"
            " --auto-devices --cpu-memory --disk --paged-experts-* --ple-offload-* --enable-*weights-cpu-backup"
        ),
        moves=("pcie link", "host memory bandwidth", "page placement", "gpu memory"),
        breaks="often",
        beside=("gpu/*/pcie/link_gen_max", "gpu/*/pcie/numa_node"),
        why="Weights or cache that live in the host's memory cross PCIe in each step, or are computed there: memory of "
        "the GPU against the width of the link and the node that the pages lie on.",
        confirm="nvidia-smi dmon -s t during the run in both; start without offload and with a smaller cache",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="cache-tiers",
        sees=flag(
            "--hicache-* --enable-h*cache --enable-lmcache --lmcache-* --enable-flexkv --flexkv-*"
            " --kv-transfer-config --disaggregation-mode --*unified-cache* --kv-events-config"
        ),
        moves=("workload", "pcie link", "network", "host memory bandwidth"),
        phases=("prefill", "decode step", "host latency", "any work"),
        breaks="seldom",
        why="Caches below the GPU's, and prefill and decode on different GPUs: prompts are found instead of computed, "
        "and what is found has to come over PCIe or the network first.",
        confirm="Hit rate and time of transfers in the engine's metrics; the same run with the tier off",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="loading-weights",
        sees=flag(
            "--mlock --*mmap --direct-io --no-direct-io -dio -ndio --load-mode -lm --lazy-mode -lzm --load-format"
            " --safetensors-* --transparent-huge-pages --hugepages"
        ),
        moves=("page placement", "page cache", "host memory", "page size", "storage"),
        phases=("start-up", "decode step", "prefill", "any work"),
        breaks="seldom",
        usual=(1.05, 3.0),
        beside=("numa/online", "memory/total"),
        why="How weights come to lie in memory: mapped from the page cache, where an earlier run may have put them on "
        "one node; read anew and spread; locked; in huge pages. 1.8x for decoding on the CPU, 2.4x for a start, either "
        "way.",
        confirm="numastat -p PID in both runs; drop the caches, then start with each value",
        sources=(
            LLAMA,
            "https://github.com/ggml-org/llama.cpp/pull/14396",
            "https://github.com/ggml-org/llama.cpp/pull/18166",
            "https://github.com/ubergarm/ik_llama.cpp/pull/1",
        ),
    ),
    Rule(
        name="thread-flags",
        sees=flag(
            "--threads -t --threads-batch -tb --num-thread --num-threads --n-threads --cpu-mask* -C*"
            " --cpu-range* --cpu-strict* --poll* --omp-num-threads --num-cpu-threads-per-process"
            " -tgb"
        ),
        moves=("cpu time", "wake latency"),
        shows=(*THROTTLED, *CONTENDED),
        usual=(1.08, 45.0),
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "process/*/affinity", "cpu/smt/active"),
        why="Threads that compute in step are as fast as the last one. More of them than CPUs, than cores, or than a "
        "quota pays for stop each other: 2 to 10x, with the GPU idle; too few leave cores idle.",
        confirm="As many as there are cores in the cpuset; cpu.stat and usage/main/run_delay in both runs",
        confirmed=5,
        sources=(
            LLAMA,
            "https://github.com/ollama/ollama/issues/17916",
            "https://github.com/ggml-org/llama.cpp/pull/20020",
            "https://github.com/tobocop2/lilbee/pull/660",
        ),
    ),
    Rule(
        name="numa-flags",
        sees=flag("--numa* --enable-numa* --membind --cpunodebind --interleave --preferred --physcpubind"),
        moves=("page placement", "cpu time"),
        usual=(1.02, 1.8),
        beside=("numa/online", "kernel/sysctl/kernel/numa_balancing", "gpu/*/pcie/numa_node"),
        why="Which node threads and pages go to. Spreading helps a model that the CPUs compute and hurts one whose "
        "GPU hangs on one node; pages that were cached before the binding stay where they are.",
        confirm="numastat -p PID in both runs; start without it after the page cache was dropped",
        confirmed=1,
        sources=(LLAMA, SGLANG, "https://github.com/ollama/ollama/pull/6484"),
    ),
    Rule(
        name="no-overlap",
        sees=flag("--disable-overlap-schedule --no-async-scheduling --disable-async-output-proc"),
        moves=("cpu time", "wake latency", "launch latency"),
        best=("absent",),
        mostly=True,
        phases=_HOST,
        why="The host prepares the next step only when the GPU has done this one: each step waits for scheduling, "
        "sampling and sending, and a slow CPU shows in full.",
        confirm="The same start without the flag; gaps between two steps in a trace of either run",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="steps-on-the-host",
        sees=flag(
            "--async-scheduling --no-async-scheduling --disable-overlap-schedule --*batch-overlap --enable-dbo"
            " --dbo-* --tbo-* --num-continuous-decode-steps --num-scheduler-steps --multi-step-*"
            " --scheduler-recv-interval --disable-async-output-proc --stream-interval --incremental-streaming-output"
            " --disable-request-streaming --enable-microbatch"
        ),
        moves=("cpu time", "wake latency", "launch latency"),
        phases=_HOST,
        why="Whether the host prepares the next step while the GPU works on this one. Where it does not, each step "
        "waits for scheduling, sampling and sending, and a slow CPU shows in full.",
        confirm="Gaps between two steps in a trace of either run; py-spy dump of the scheduler",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="front-end",
        sees=flag(
            "--api-server-count --tokenizer* --detokenizer-* --skip-tokenizer-init --renderer-num-workers"
            " --num-postprocess-workers --grammar-backend --reasoning-* --tool-* --*tool-choice --*chat-template*"
            " --*jinja --enable-http2 --http2-* --h11-* --grpc* --*-custom-logit-processor --logits-processors"
            " --skip-chat-parsing --completion-template --prefill-assistant --enable-prompt-embeds -cnv"
            " --conversation -st --single-turn -sp --special --escape --no-escape --spm-infill --interactive"
            " --in-prefix --batch-notify-size --dynamic-batch-tokenizer-* --enable-dynamic-batch-tokenizer"
        ),
        moves=("cpu time", "workload"),
        phases=_HOST,
        shows=THROTTLED,
        why="What is done to a request before and after the GPU: templates, tokens, parsers of tools and of thoughts, "
        "by how many processes. A tokeniser that is slow, or a single server for all, holds up the first token, and "
        "with many streams each of them.",
        confirm="py-spy dump of the API server during the run; the same prompts as tokens",
        sources=(VLLM, SGLANG, TRTLLM),
    ),
    Rule(
        name="logs-and-traces",
        sees=flag(
            "--log-* --*-log-* --*-logging --logging-* --*-metrics* --verbose -v -lv --verbosity --verbose-prompt"
            " --otlp-* --debug-* --crash-dump-folder --aggregate-engine-logging --decode-log-interval"
            " --export-metrics-* --cudagraph-metrics --enable-expert-distribution-metrics --debug --perf --no-perf"
            " --metrics-interval-ms"
        ),
        moves=("cpu time", "system calls", "storage"),
        scale=LEVELS,
        phases=_HOST,
        usual=(1.0, 1.2),
        why="Lines, counters and traces of each request or step are written by the thread that could prepare the next "
        "one. Mostly it is nothing; dumps of tensors and traces of kernels are not.",
        confirm="Start without it",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="server-address",
        sees=flag(
            "--host --port --*-port --uds --api-key --admin-api-key --ssl-* --dist-init-addr --master-addr"
            " --data-parallel-address --nccl-init-addr --base-url --url --api-key-file --hf-token"
            " --enable-ssl-refresh -hft --file-storage-path"
        ),
        moves=("availability",),
        phases=("completion",),
        breaks="seldom",
        usual=(1.0, 1.0),
        why="Where a server listens moves no step. It does not start where the address is taken or a file of keys "
        "cannot be read, and a client that asks another address measures another server.",
        confirm="ss -ltnp tells who listens there",
        sources=(VLLM, LLAMA),
    ),
    Rule(
        name="server-names",
        sees=flag(
            "--served-model-name --alias -a --*root-path --api-prefix --allowed-* --cors-* --allow-credentials"
            " --response-role --weight-version --no-webui --disable-fastapi-docs"
        ),
        moves=("availability",),
        phases=("start-up",),
        usual=(1.0, 1.0),
        why="By which name a server is asked, and from which pages, moves no step and ends no start: who asks by "
        "another name is answered 404.",
        confirm="curl -s localhost:PORT/v1/models tells by which names it answers",
        sources=(VLLM, LLAMA),
    ),
    Rule(
        name="sampling-and-seeds",
        sees=flag(
            "--seed --random-seed --temp --temperature --top-* --min-p --typical* --*-penalty --repeat-* --mirostat*"
            " --samplers --sampling-* --generation-config --override-generation-config -s --xtc-* --dry-*"
            " --dynatemp-* --adaptive-* --sampler-seq -l --logit-bias --preferred-sampling-params -bs"
            " --backend-sampling"
        ),
        moves=("workload", "accept length", "kernel choice"),
        phases=("accept length", "decode step", "verify step", "prefill", "any work"),
        usual=(1.02, 2.3),
        why="Other tokens are chosen: answers of another length, drafts that are accepted more or less often. With one "
        "seed for every run the same prompts come again, and a warm cache has them: 1.86 to 2.3x.",
        confirm="Number of tokens answered and hit rate of the cache in both runs; another seed for each",
        sources=(VLLM, "https://github.com/vllm-project/vllm/issues/54227"),
    ),
    Rule(
        name="benchmark-load",
        sees=flag(
            "--num-prompts --num-requests --request-rate --request-count --max-concurrency --concurrency --burstiness"
            " --ramp-* --input-len* --output-len* --*-input-len --*-output-len --*-prefix-len --random-* --sharegpt-*"
            " --gsp-* --mooncake-* --dataset* --custom-* --prompt* -p --file -f --n-prompt --n-gen --n-depth -pg -d"
            " --max-tokens --extra-body --extra-request-body --extra-inputs --cache-hit-rate --endpoint --endpoint-type"
            " --backend --service-kind --goodput --disable-stream --no-stream --streaming --client-stream-interval"
            " --max-turns --num-clients --rate --rate-type --isl --osl --tokens --range-ratio --num-prefixes"
            " --prefix-len --suffix-len --concurrency-range --request-intervals --max-requests --users --spawn-rate"
            " --synthetic-* --output-tokens-mean* --output-token-len --sequence-length --num-of-sequences --hf-split"
            " -npp -ntg -npl --chunks --ppl-stride --hellaswag"
        ),
        moves=("workload",),
        usual=(1.1, 4.4),
        why="What is asked, how often and by how many at once. Other lengths, another concurrency, prompts that repeat "
        "or a client that cannot keep up measure something else: 1.1 to 4.4x on record.",
        confirm="The same client with the other run's flags against the same server",
        confirmed=6,
        sources=(
            "https://docs.vllm.ai/en/stable/benchmarking/",
            "https://github.com/kubernetes-sigs/inference-perf/issues/648",
            "https://github.com/vllm-project/vllm/issues/54227",
        ),
    ),
    Rule(
        name="measured-window",
        sees=flag(
            "--repetitions --num-iters* --num-runs --num-warmup* --warmup-* --warmup-iters --n-gen-warmup --flush-cache"
            " --delay --measurement-* --stability-percentage --percentile --metric-percentiles --binary-search"
            " --run-time --max-seconds --rampup --ramp-up-* --cold-start --skip-initial-test --profile-interval"
        ),
        moves=("workload", "kernel choice"),
        phases=(*_HOST, "transfer"),
        usual=(1.02, 2.3),
        why="Which part of the work is counted: the first requests compile, tune and fill caches, the last ones run in "
        "half-empty batches. A short run is made of both, and what ran before has filled the cache of prompts.",
        confirm="Twice as many requests, and as many before the clock starts, in both runs",
        sources=(
            "https://docs.vllm.ai/en/stable/benchmarking/",
            "https://github.com/vllm-project/vllm/issues/54227",
            "https://github.com/ggml-org/llama.cpp/blob/master/tools/llama-bench/README.md",
        ),
    ),
    Rule(
        name="result-files",
        sees=flag(
            "-o --out --output --output-file --output-dir --output-json --result-* --save-* --append-result"
            " --export-json --output-format --output-err -oe --out-json --output-directory --temp-directory"
            " --overwrite-output-dir --input-directory --base-directory"
        ),
        moves=("storage",),
        phases=("any work",),
        usual=(1.0, 1.02),
        why="Where results are written, after what is measured mostly: it moves a number where the file lies on a slow "
        "disk and is written in between.",
        confirm="Write to /dev/shm, then the same run",
        sources=("https://docs.vllm.ai/en/stable/benchmarking/",),
    ),
    Rule(
        name="configuration-file",
        sees=flag(
            "--config --*-config-file --config-file --extra-llm-api-options --additional-config --models-preset"
            " --extra-encoder-options --backend-config --strict-model-config --disable-auto-complete-config"
            " --visual-gen-args --extra-visual-gen-options --override-neuron-config"
        ),
        moves=("workload", "kernel choice", "launch latency", "gpu memory", "collective", "cpu time"),
        breaks="often",
        why="Every flag may stand in the file as well, and the file may change under one name: what it says is read of "
        "vLLM, SGLang and TensorRT-LLM, unless it was changed after they had started.",
        confirm="diff the two files; the engine's log prints what it took",
        sources=(VLLM, TRTLLM),
    ),
)
