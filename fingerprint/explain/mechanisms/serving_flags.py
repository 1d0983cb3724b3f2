"""Flags of engines about one thing each: the cache's format, determinism, answers, images, models that come and go."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.server_flags import LLAMA, SGLANG, TGI, TRITON, VLLM, flag

_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")
_ASKED: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "host latency", "any work")
_VLLM_CACHE = "https://docs.vllm.ai/en/latest/features/quantization/quantized_kvcache/"
_SGLANG_CACHE = "https://docs.sglang.io/advanced_features/quantized_kv_cache.html"
_DETERMINISTIC = "https://docs.sglang.io/advanced_features/deterministic_inference.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="cache-format",
        sees=flag(
            "--kv-cache-dtype* --cache-type-* -ctk -ctv --calculate-kv-scales --quant-policy --kv-bits --cache-mode"
            " --cache-q4 --cache-4bit --cache-8bit --cache-fp8"
        ),
        moves=("gpu memory bandwidth", "kernel choice", "gpu memory", "accept length"),
        phases=(*_STEPS, "accept length"),
        breaks="seldom",
        beside=("process/*/flags/--attention-backend", "process/*/flags/--flash-attn"),
        told_by=("without-flash-attention",),
        why="Half the bytes a token hold twice the tokens, and a long context is read in half the time, where the "
        "attention kernel reads that format. Where it does not, the cache is unpacked first, which the manual of "
        "SGLang calls extremely slow, or another kernel is taken.",
        confirm="The same with the format of the model, at a short and at a long context; the log names the backend",
        sources=(_VLLM_CACHE, _SGLANG_CACHE, LLAMA),
    ),
    Rule(
        name="deterministic-kernels",
        sees=flag(
            "--enable-deterministic-inference --full-determinism --deterministic --deterministic-mode"
            " --rl-on-policy-target --triton-attention-split-tile-size"
        ),
        moves=("kernel choice", "gpu compute", "workload", "gpu memory"),
        best=("absent",),
        mostly=True,
        phases=_STEPS,
        breaks="seldom",
        usual=(1.03, 2.3),
        why="The same answer whatever else is in the batch: sums are split at fixed places instead of where they fill "
        "the GPU, tuned kernels are left out, and with some backends the cache of prompts is off. Another number of "
        "splits alone was 1.03 to 2.3x.",
        confirm="The same start without the flag",
        sources=(_DETERMINISTIC, "https://github.com/sgl-project/sglang/pull/24098"),
    ),
    Rule(
        name="returned-scores",
        sees=flag(
            "--max-logprobs --logprobs --logprobs-mode --prompt-logprobs --enable-prefill-logprobs"
            " --enable-return-hidden-states --enable-return-routed-experts --return-tokens-as-token-ids"
            " --disable-logprobs-during-spec-decoding --max-top-n-tokens"
        ),
        moves=("kernel choice", "cpu time", "gpu memory"),
        phases=(*_ASKED, "start-up"),
        breaks="seldom",
        why="Scores of each token are a softmax over the whole vocabulary, a copy to the host and objects that Python "
        "builds. States of layers are megabytes an answer. It costs those that ask for them, and those in their batch.",
        confirm="The same requests without logprobs; size of an answer in bytes",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="sparse-attention-flags",
        sees=flag(
            "--enable-double-sparsity --ds-* --hierarchical-sparse-attention-* --enable-hip-attention"
            " --hip-attention-* --sparse-attention-*"
        ),
        moves=("kernel choice", "gpu memory bandwidth", "accept length"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        why="Only a part of the cache is read for each token, chosen by an index that costs by itself: slower for "
        "short contexts, faster for long ones, and other tokens come out.",
        confirm="The same without it, at a short and at a long context",
        sources=(SGLANG,),
    ),
    Rule(
        name="active-experts",
        sees=flag("--num-experts-per-token -ser --smart-expert-reduction --override-num-experts --moe-router-topk"),
        moves=("gpu memory bandwidth", "gpu compute", "accept length"),
        phases=("prefill", "decode step", "verify step", "accept length", "any work"),
        why="Of a mixture of experts each token reads the weights of those that are chosen: half as many are half the "
        "bytes of these layers, for other answers.",
        confirm="The same with the model's own number",
        sources=("https://github.com/theroyallab/tabbyAPI/blob/main/config_sample.yml",),
    ),
    Rule(
        name="kernels-left-out",
        sees=flag(
            "--disable-custom-kernels --no-flash-attn --no-sdpa --no-xformers --disable-shared-experts-fusion"
            " --disable-mla --no-masked-softmax-fusion --no-bias-gelu-fusion --no-bias-swiglu-fusion --no-rope-fusion"
            " --no-gradient-accumulation-fusion --no-bias-dropout-fusion --no-persist-layer-norm"
        ),
        moves=("kernel choice", "launch latency", "gpu memory"),
        best=("absent",),
        mostly=True,
        phases=_STEPS,
        breaks="seldom",
        why="A kernel made for this model, this layer or this GPU is left out for one that runs everywhere: more "
        "launches, and intermediate results that go to memory and back. It is given where that kernel failed.",
        confirm="The same start without the flag; the log's line on what was taken instead",
        sources=(TGI, SGLANG),
    ),
    Rule(
        name="checks-of-values",
        sees=flag("--enable-nan-detection --crash-on-nan --check-for-nan-in-loss-and-grad --detect-anomaly"),
        moves=("launch latency", "wake latency", "gpu memory bandwidth"),
        best=("absent",),
        phases=_ASKED,
        breaks="seldom",
        why="Each step's results are read once more and the host waits for the answer, so that it cannot run ahead. "
        "Where it finds something it may end the server.",
        confirm="The same start without the flag; gaps between two steps in a trace",
        sources=(SGLANG,),
    ),
    Rule(
        name="images-and-videos",
        sees=flag(
            "--mm-* --limit-mm-* --media-* --image-* --video-* --mtmd-* --disable-fast-image-processor"
            " --disable-mm-preprocessor-cache --keep-mm-feature-on-device --enable-broadcast-mm-inputs-process"
            " --enable-multimodal-encoder-data-parallel --enable-prefix-mm-cache --enable-mm-global-cache"
            " --skip-mm-profiling --interleave-mm-strings --max-image-fetch-size"
            " --enable-precise-embedding-interpolation"
        ),
        moves=("cpu time", "workload", "gpu memory", "system calls"),
        phases=(*_ASKED, "start-up"),
        shows=THROTTLED,
        breaks="seldom",
        why="An image is fetched, decoded and cut on the CPU, then encoded to hundreds or thousands of tokens of the "
        "prompt. How large it may be, how often it is looked at and whether it is found in a cache decide about the "
        "time to the first token. Requests of text alone feel the memory that is kept for it.",
        confirm="The same requests without images; prompt tokens of one request in both",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="encoders-loaded",
        sees=flag(
            "--language-only --language-model-only --enable-multimodal --vision --no-mmproj --mmproj-auto"
            " --no-mmproj-auto --mmproj-device -mmdev"
        ),
        moves=("gpu memory", "workload", "cpu time"),
        phases=_STEPS,
        breaks="seldom",
        why="Without the encoder of images its weights and workspace are left to the cache, and the start profiles no "
        "image. On the CPU each image takes seconds.",
        confirm="Number of blocks or tokens of the cache in either log",
        sources=(SGLANG, LLAMA),
    ),
    Rule(
        name="constrained-output",
        sees=flag(
            "--grammar* --grammar-backend --guided-* --structured-outputs-config --constrained-* --json-schema* -j -jf"
            " --disable-jump-forward --disable-outlines-disk-cache --disable-grammar-support"
        ),
        moves=("cpu time", "workload"),
        phases=(*_ASKED, "start-up"),
        shows=(*THROTTLED, *CONTENDED),
        breaks="seldom",
        usual=(1.02, 10.0),
        why="A grammar is compiled for each schema that is new, and masks the vocabulary at each token, on the CPU "
        "between two steps. A compiler that took all cores of the host made 8 ms a token into 80, within a quota.",
        confirm="The same requests as plain text; py-spy dump of the engine while tokens come",
        sources=(VLLM, SGLANG, "https://github.com/vllm-project/vllm/pull/49461"),
    ),
    Rule(
        name="thinking-flags",
        sees=flag(
            "--reasoning-budget* --reasoning-effort --reasoning -rea --reasoning-preserve --no-reasoning-preserve"
            " --chat-template-kwargs --default-chat-template-kwargs --force-enable-thinking --think"
        ),
        moves=("workload", "accept length"),
        phases=(*_ASKED, "accept length"),
        why="Whether a model thinks before it answers, and how long: it is asked the same and writes ten times as "
        "much. A step takes as long as before. A request does not.",
        confirm="Tokens of one answer in both runs",
        sources=(LLAMA,),
    ),
    Rule(
        name="models-come-and-go",
        sees=flag(
            "--models-max --models-autoload --no-models-autoload --models-dir --inline-model-loading --keep-alive"
            " --keepalive --ttl --sleep-idle-seconds --enable-sleep-mode --enable-memory-saver --model-control-mode"
            " --repository-poll-secs --checkpoint-engine-wait-weights-before-ready"
        ),
        moves=("storage", "page cache", "gpu memory", "pcie link"),
        phases=("start-up", "prefill", "any work"),
        breaks="seldom",
        why="Weights leave the GPU when nobody asks for a while, or when another model is asked for, and the next "
        "request pays for a load: seconds to minutes in one time to the first token.",
        confirm="The first request against the second one; memory of the GPU just before",
        sources=(LLAMA, VLLM, TRITON),
    ),
    Rule(
        name="sleep-between-requests",
        sees=flag("--sleep-on-idle"),
        moves=("wake latency", "cpu time"),
        read_by=("sglang",),
        phases=("prefill", "host latency", "any work"),
        why="The scheduler sleeps while nothing is to do, instead of asking without end. It leaves CPUs to others, and "
        "the first request waits until it is awake.",
        confirm="One request a second, with and without it; CPU time of the scheduler at rest",
        sources=(SGLANG,),
    ),
    Rule(
        name="model-task",
        sees=flag(
            "--task --runner --convert --is-embedding --embedding --embeddings -embd --rerank --reranking --pooling"
            " --pooler-config --override-pooler-config --embd-normalize"
        ),
        moves=("workload", "kernel choice", "gpu memory"),
        phases=_STEPS,
        breaks="often",
        why="A vector of each prompt instead of tokens one by one: no decoding, another attention, often no cache, and "
        "batches as large as prompts allow. Requests of the other kind are refused.",
        confirm="The log names the task that the model was loaded for",
        sources=(VLLM, SGLANG, LLAMA),
    ),
    Rule(
        name="plugged-in-code",
        sees=flag(
            "--worker-cls --worker-extension-cls --scheduler-cls --io-processor-plugin --custom-module-dirs"
            " --custom-weight-loader --custom-tokenizer --middleware --forward-hooks --msprobe-dump-config"
            " --backend-directory --repoagent-directory --disable-all-custom-nodes --whitelist-custom-nodes"
            " --user-module --plugins --tokenizer-mode"
        ),
        moves=("code", "cpu time"),
        breaks="seldom",
        why="Code of others runs in each step, each request or at the start: a class that replaces the engine's, a "
        "hook behind each layer, nodes and backends from a folder.",
        confirm="Start without it; py-spy top of the process",
        sources=(VLLM, SGLANG, TRITON),
    ),
    Rule(
        name="bounds-of-a-request",
        sees=flag(
            "--max-best-of --max-stop-sequences --payload-limit --max-upload-size --allow-auto-truncate"
            " --auto-truncate --max-client-batch-size --default-max-tokens --max-prompt-adapter-token"
        ),
        moves=("workload",),
        phases=_ASKED,
        breaks="seldom",
        why="What a request may ask for: a longer one is refused, or cut without a word and then faster.",
        confirm="Tokens of prompt and answer of one request in both runs; answers that are errors",
        sources=(TGI, SGLANG),
    ),
    Rule(
        name="time-outs",
        sees=flag(
            "--timeout -to --timeout-keep-alive --dist-timeout --watchdog-* --soft-watchdog-timeout --request-timeout"
            " --exit-timeout-secs --shutdown-timeout --graceful-termination-timeout --sse-ping-interval"
            " --ready-check-timeout-sec --distributed-timeout-minutes --ddp-timeout --qp-timeout"
            " --distributed-timeout-seconds"
        ),
        moves=("availability",),
        phases=("start-up",),
        breaks="often",
        why="How long is waited before a step, a rank or a client is given up. It makes no step faster, and ends those "
        "that take longer: a first start that compiles, a load from a slow disk.",
        confirm="The log names what ran out; the same with a longer one",
        sources=(SGLANG, "https://huggingface.co/docs/accelerate/package_reference/cli"),
    ),
    Rule(
        name="cached-answers",
        sees=flag("--cache-config --response-cache-byte-size --cache-directory"),
        moves=("workload", "host memory"),
        phases=("prefill", "host latency", "any work"),
        why="Triton answers a request that it has seen before from memory, and the model is not asked at all.",
        confirm="Hits in the server's metrics; requests that are all different",
        sources=(TRITON,),
    ),
    Rule(
        name="pools-of-a-server",
        sees=flag(
            "--pinned-memory-pool-byte-size --cuda-memory-pool-byte-size --cuda-virtual-address-size"
            " --grpc-infer-allocation-pool-size --buffer-manager-thread-count --sysmem-recurrent-cache"
        ),
        moves=("pcie link", "host memory", "gpu memory", "system calls"),
        breaks="seldom",
        why="Inputs and outputs are staged in pinned memory and on the GPU. Where the pool is used up they are "
        "allocated anew for each request, in pages that the GPU has to copy twice.",
        confirm="Warnings of the pool in the log; the same with twice the size",
        sources=(TRITON,),
    ),
    Rule(
        name="threads-for-requests",
        sees=flag(
            "--http-thread-count --http-threads --threads-http --sagemaker-thread-count --vertex-ai-thread-count"
            " --validation-workers --tokenization-workers --enable-tokenizer-batch-encode"
            " --disable-tokenizer-batch-decode --disable-frontend-multiprocessing --uvloop --web-concurrency"
        ),
        moves=("cpu time",),
        shows=(*THROTTLED, *CONTENDED),
        phases=("host latency", "prefill", "decode step", "any work"),
        why="How many threads or processes take requests, tokenise and answer. One is full at some hundred requests a "
        "second, while the GPU waits.",
        confirm="Load of each thread in `top -H`; the same with more of them, and with fewer requests",
        sources=(TRITON, TGI, SGLANG),
    ),
    Rule(
        name="parts-that-do-no-work",
        sees=flag(
            "-h --help --version --usage --api --api-auth --share --ngrok* --gradio-* --theme --autolaunch"
            " --auto-launch --disable-auto-launch --listen --tls-* --ui-* --ui --no-ui --webui --no-webui --nowebui"
            " --front-end-* --enable-manager* --disable-manager-ui --multi-user --user-directory --tags --color"
            " --simple-io --no-display-prompt --dont-print-server --usage-stats --disable-usage-stats"
            " --enable-offline-docs --enable-request-id-headers --enable-cors-header --subpath --server-name"
            " --hostname --http-address --grpc-address --metrics-address --id --label --metadata --push-to-hub"
            " --report-to --wandb-* --tensorboard-* --print-freq --quiet --progress --list-devices --cache-list"
            " --skip-python-version-check --skip-version-check --skip-torch-cuda-test --unsafe-launch --save-pid"
            " --tag-output --report-bindings --allow-run-as-root --disable-metadata --update-check --administrator"
            " --mcp-servers-* --agent -ag --props --slots --no-slots --metrics --disable-auth --send-tracebacks"
            " --allow-code --disable-safe-unpickle --enable-insecure-extension-access --env --json-output"
            " --shard-uds-path --allow-sagemaker --allow-http --allow-grpc --model-namespacing --strict-readiness"
            " --enable-tokenizer-info-endpoint --enable-force-include-usage --enable-cache-report"
            " --enable-prompt-tokens-details --collect-tokens-histogram --bucket-* --prompt-tokens-buckets"
            " --generation-tokens-buckets --gc-warning-threshold-secs --use-tqdm-on-load --fail-on-environ-validation"
            " --custom-sigquit-handler --tool-server --tools --tools-runtime --default-hashing-function"
            " --database-url --disable-gpu-warning --quick-test-for-ci --enable-server-load-tracking"
            " --dummy-model-names --use-dummy-models --no-progressbar-hiding --disable-console-progressbars"
            " --duplicate-stdout-filters --local-ranks-filter --tee --redirects --signals-to-handle"
            " --disable-nan-check --use-v2-block-manager --CPU-freq --cpu-freq --report-timestamps --memory-report"
            " --plot-timeline --exit-on-error --rm"
        ),
        moves=("availability",),
        phases=("start-up",),
        unused=True,
        why="Who may ask, what a page looks like, what is printed, counted or published beside the work: takes no part "
        "in a step.",
        confirm="Start without it",
        sources=(LLAMA, TRITON),
    ),
)
