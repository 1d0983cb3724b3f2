"""Flags of engines about place, order and length: which GPU, whose turn, how long an answer, how weights are read."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED
from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.server_flags import LLAMA, SGLANG, TRITON, TRTLLM, VLLM, flag

_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")
_ASKED: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "host latency", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="which-gpu",
        sees=flag(
            "--device -dev --devices --device-ids --base-gpu-id --gpu-id-step --main-gpu -mg --cuda-device"
            " --default-device --device-id --gpu --gpu-id --gpu-ids --gpu-index --directml --oneapi-device-selector"
            " --visible-devices"
        ),
        moves=("availability", "pcie link", "page placement", "gpu memory"),
        breaks="often",
        beside=("gpu/*/pcie/numa_node", "gpu/*/pcie/link_width_max"),
        told_by=("cuda-invalid-ordinal",),
        why="Another GPU of the machine: perhaps of another model, in a narrower slot, on the other socket, warmer, or "
        "with somebody else on it. Or none: `cpu` is a device as well.",
        confirm="nvidia-smi -L and the GPU that works during the run",
        sources=(LLAMA, SGLANG, "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/cli_args.py"),
    ),
    Rule(
        name="another-place-for-prefill",
        sees=flag(
            "--disaggregation-* --disaggregation-mode --kv-transfer-config --encoder-* --ec-* --enable-pdmux --pdmux-*"
            " --sm-group-num --prefill-only --decode-only"
        ),
        moves=("network", "workload", "pcie link", "gpu memory"),
        phases=(*_ASKED, "start-up"),
        breaks="often",
        beside=("gpu/*/pcie/numa_node", "gpu/*/nvlink/active"),
        why="Prompts are computed on other GPUs than answers, and the cache of each goes over before the first token: "
        "decoding is held up no more, and each group has a part of the GPUs for itself, also when the other one is "
        "idle. A transfer that falls back to TCP is felt in each first token.",
        confirm="Time of a transfer in the engine's metrics; bytes of the adapter during the run; one server for both",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="order-of-requests",
        sees=flag(
            "--schedul* --*priority* --preemption-mode --retraction-policy --waiting-served-ratio --max-waiting-tokens"
            " --enable-lora-overlap-loading --lora-drain-*"
        ),
        moves=("workload", "gpu memory"),
        phases=_ASKED,
        breaks="seldom",
        told_by=("requests-preempted",),
        why="Who comes next, and how many are let in before memory is short: those with the longest known beginning "
        "first, the oldest first, or the important ones. Optimism ends in requests that are pushed out and computed "
        "again, caution in a batch that is never full. Means move little, tails much.",
        confirm="Running, waiting and preempted requests in the metrics; the 99th percentile of the first token",
        sources=(SGLANG, VLLM),
    ),
    Rule(
        name="answer-length",
        sees=flag(
            "--n-predict --predict -n --ignore-eos --stop* --keep --max-new-tokens --min-tokens --reverse-prompt"
            " --max-output-tokens --max-completion-tokens"
        ),
        moves=("workload",),
        phases=("decode step", "verify step", "host latency", "any work"),
        why="How many tokens an answer has, or where it stops: the time of a request goes with it. So do tokens a "
        "second where the prompt is counted in, and late tokens have a longer cache to read.",
        confirm="Tokens of each answer in both runs; time between two tokens",
        sources=(LLAMA, "https://docs.vllm.ai/en/stable/benchmarking/"),
    ),
    Rule(
        name="beams",
        sees=flag("--use-beam-search --num-beams --max-beam-width --best-of"),
        moves=("workload", "gpu memory"),
        phases=_STEPS,
        breaks="seldom",
        why="Each request is decoded in so many ways at once: as many sequences in a step and in the cache, and what "
        "loses is thrown away. A width that is only allowed for reserves memory already.",
        confirm="The same with one beam",
        sources=(TRTLLM,),
    ),
    Rule(
        name="sizes-captured",
        sees=flag(
            "--cuda-graph-bs* --cuda-graph-max-bs --cudagraph-capture-sizes --max-cudagraph-capture-size"
            " --cuda-graph-sizes --cuda-graphs --max-seq-len-to-capture --disable-cuda-graph-padding"
        ),
        moves=("launch latency", "kernel choice", "gpu memory"),
        phases=_STEPS,
        breaks="seldom",
        told_by=("without-graphs",),
        why="For which batches a graph was captured: a batch between two sizes is padded to the next one, and one "
        "above the largest is launched kernel by kernel, so that speed falls off at that concurrency. Each size takes "
        "seconds of the start and some memory.",
        confirm="The same at a concurrency below the largest size in either run; the log lists what was captured",
        sources=(SGLANG, VLLM),
    ),
    Rule(
        name="experts-balanced",
        sees=flag(
            "--enable-eplb --*eplb* --ep-num-redundant-experts --ep-dispatch-algorithm --init-expert-location"
            " --expert-placement-* --enable-deepep-waterfill"
        ),
        moves=("collective", "gpu compute", "gpu memory"),
        between=True,
        phases=_STEPS,
        breaks="seldom",
        why="Each layer waits for the GPU whose experts were asked most. Copies of those that are popular even it "
        "out, cost memory, and are moved during the run: a step that is longer every so often.",
        confirm="Balancedness of experts in the engine's log; single steps around a rebalance",
        sources=(SGLANG, VLLM),
    ),
    Rule(
        name="weight-loaders",
        sees=flag(
            "--load-format --model-loader-extra-config --weight-loader-* --startup-weight-load-mode --weight-cache-*"
            " --download-dir --remote-instance-* --max-parallel-loading-workers --model-load-thread-count"
            " --fasttensors --huggingface-hub-cache --weights-cache-override --ignore-patterns --check-tensors"
            " --mmap-torch-files --weight-transfer-config"
        ),
        moves=("storage", "network", "page cache", "cpu time"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="From where weights come, by how many threads, and how far ahead they are read: a stream of large reads "
        "against single pages of a mapped file, over a network that many ranks ask for the same. It moves the start "
        "and no step, but for `dummy`, whose weights are noise.",
        confirm="Lines on loading in the log with their times; bytes a second of the disk or the network meanwhile",
        sources=(VLLM, SGLANG, TRITON),
    ),
    Rule(
        name="repacked-weights",
        sees=flag("--repack --no-repack -nr -rtr --run-time-repack --no-host"),
        moves=("code", "host memory", "page cache"),
        read_by=("llama.cpp",),
        phases=(*_STEPS,),
        beside=("cpu/processor/flags",),
        why="Weights that the CPU multiplies are put in another order at the start, for instructions that take several "
        "rows at once: prompts are faster by it. They then lie in memory of their own instead of the file's pages.",
        confirm="llama-bench -ngl 0 with each value; memory of the process",
        sources=(LLAMA, "https://github.com/ggml-org/llama.cpp/blob/master/tools/llama-bench/README.md"),
    ),
    Rule(
        name="priority-flags",
        sees=flag("--prio --prio-* --realtime-process-priority --nice"),
        moves=("cpu time", "wake latency"),
        shows=CONTENDED,
        breaks="seldom",
        why="Which threads go first where others want the same CPU. Alone on its cores it changes nothing. Realtime "
        "threads that wait by spinning keep the kernel's own work and the driver's from these cores.",
        confirm="The same at normal priority, with nothing else on the machine",
        sources=(LLAMA, "https://github.com/theroyallab/tabbyAPI/blob/main/config_sample.yml"),
    ),
    Rule(
        name="traces-and-dumps",
        sees=flag(
            "--profile --profile-* --profiler-* --enable-trace --trace-* --collect-detailed-traces --*nvtx*"
            " --debug-tensor-* --show-time-cost --ray-workers-use-nsight --enable-layerwise-* --kv-canary*"
            " --expert-distribution-* --enable-logging-iteration-details"
        ),
        moves=("cpu time", "launch latency", "storage"),
        best=("absent",),
        mostly=True,
        phases=(*_ASKED, "start-up"),
        breaks="seldom",
        why="Each kernel, step or layer is written down while it is measured: the host spends more on a launch, some "
        "steps wait for the GPU to be timed, and buffers go to disk at the end. Marks alone cost little.",
        confirm="Start without it",
        sources=(VLLM, SGLANG, TRITON),
    ),
)
