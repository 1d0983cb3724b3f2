"""Flags of inference servers that make up a step on the GPU: model, parallelism, batches, graphs, kernels, caches."""

from fingerprint.explain.mechanisms.graph import Phase, Rule


def flag(names: str) -> tuple[str, ...]:
    """Globs of flags of any process of the run, by their names, with blanks between them."""
    return tuple(f"process/*/flags/{name}" for name in names.split())


VLLM = "https://docs.vllm.ai/en/stable/configuration/engine_args/"
SGLANG = "https://docs.sglang.io/advanced_features/server_arguments.html"
LLAMA = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"
TGI = "https://github.com/huggingface/text-generation-inference/blob/main/docs/source/reference/launcher.md"
TRITON = "https://github.com/triton-inference-server/server/blob/main/src/command_line_parser.cc"
TRTLLM = "https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html"
_STEPS: tuple[Phase, ...] = ("prefill", "decode step", "verify step", "start-up", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="served-model",
        sees=flag(
            "--model --model-path --model-id -m -mu --model-url -hf* --hf-repo --hf-file --revision --code-revision"
            " --hf-overrides --hf-config-path --json-model-override-args --model-impl --model-class-overrides"
            " --config-format --trust-remote-code --mmproj* --override-kv --rope-* --yarn-*"
            " -mm -mmu -dr --docker-repo --model-dir --model-name --model-format --model-repository --model-store"
            " --load-model --loader --ckpt --ckpt-dir --vae-path --vae-dir --models-directory"
            " --extra-model-paths-config"
        ),
        moves=("workload", "gpu memory", "code"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        why="Another model, another revision of it, or another implementation of its layers is another amount of work "
        "for each token. To Python itself `-m` names the module that runs.",
        confirm="Digest config.json and the list of weight files in both runs; start with the other run's value",
        sources=(VLLM, SGLANG, LLAMA),
    ),
    Rule(
        name="adapters",
        sees=flag(
            "--lora* --enable-lora* --max-lora* --max-*-loras --fully-sharded-loras --default-mm-loras"
            " --long-lora-* --qlora-* --adapters --prompt-adapters --enable-prompt-adapter --max-prompt-adapters"
            " --control-vector*"
        ),
        moves=("kernel choice", "gpu memory", "launch latency"),
        phases=_STEPS,
        breaks="seldom",
        why="With adapters each layer adds two small products, batches mix several of them, and their slots take "
        "memory from the cache whether one is asked for or not.",
        confirm="Start without adapters and measure the base model",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="number-formats",
        sees=flag(
            "--dtype --quantization* --quantize* -q --modelopt* --load-in-* --enable-fp32-lm-head"
            " --enable-tf32-matmul --*mxfp4* --quantize-and-serve --torchao-config --enable-torchao"
            " --rl-quant-profile --compute-dtype --use-double-quant --force-fp16 --fp16-unet --fp16-vae"
            " --fp16-text-enc --fp16-intermediates --bf16-unet --bf16-vae --bf16-text-enc --fp8-*-unet"
            " --fp8-*-text-enc --unet-in-* --vae-in-* --clip-in-* --upcast-sampling"
        ),
        moves=("gpu memory bandwidth", "gpu compute", "kernel choice", "gpu memory", "accept length"),
        phases=(*_STEPS, "accept length"),
        breaks="often",
        told_by=("weights-only-fp8",),
        why="How many bytes a weight has, and which tensor cores multiply it: decoding reads all active weights for "
        "each token, so half the bytes are up to twice the speed, where the GPU has kernels for the format.",
        confirm="The engine's log names format and kernel at the start; the size of the weights on the GPU in both",
        sources=(VLLM, SGLANG),
    ),
    Rule(
        name="parallelism",
        sees=flag(
            "--tensor-parallel-size --tp --tp-size -tp --pipeline-parallel-size --pp --pp-* -pp --data-parallel-*"
            " --dp --dp-size -dp* --decode-context-parallel-size --prefill-context-parallel-size"
            " --context-parallel-size --cp-size --dcp-size -dcp -pcp --expert-parallel-size --moe-*-size --ep"
            " --ep-size -ep --enable-expert-* --attn-*-size --enable-dp-* --enable-*attn-tp* --nnodes -n --node-rank"
            " -r --gpus-per-node --split-mode -sm --tensor-split -ts --distributed-executor-backend --num-shard"
            " --sharded --load-balance-method --rpc -rpc --sequence-parallel --tensor-model-parallel-size"
            " --pipeline-model-parallel-size --virtual-pipeline-model-parallel-size --expert-model-parallel-size"
            " --num-layers-per-virtual-pipeline-stage --megatron-lm-*-degree --parallelism-config-* --tensor-parallel"
            " -gs --gpu-split --gpu-split-auto --autosplit-reserve --row-split --cluster-size --enable-attention-dp"
            " --enable-ep-* --enable-tp16 --enable-elastic-* --elastic-ep-* --*-kv-cache-interleave-size"
        ),
        moves=("workload", "collective", "gpu memory", "kernel choice"),
        phases=(*_STEPS, "transfer"),
        breaks="often",
        beside=("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read", "gpu/*/pcie/numa_node"),
        told_by=("cuda-invalid-ordinal", "all-reduce-over-pcie", "all-reduce-ranks"),
        why="How many GPUs share a layer, a batch or the experts: each does less, and they exchange more, twice a "
        "layer. Over PCIe more GPUs can be slower than fewer; which ones they are decides the way between them.",
        confirm="nvidia-smi during the run tells which GPUs work; start with the other run's sizes",
        sources=(VLLM, SGLANG, TRTLLM, LLAMA),
    ),
    Rule(
        name="no-custom-all-reduce",
        sees=flag("--disable-custom-all-reduce"),
        moves=("collective",),
        best=("absent",),
        mostly=True,
        between=True,
        breaks="seldom",
        usual=(1.02, 1.6),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/nvlink/active"),
        why="An engine reduces small tensors by kernels of its own where GPUs reach each other directly, else by NCCL: "
        "two a layer, bound by latency; 171.8 against 182.8 tok/s. Where peers only seem to reach each other it is the "
        "flag that lets the engine start.",
        confirm="The log says which all-reduce is on or why not; the same start without the flag",
        sources=(SGLANG, "https://github.com/syv-ai/qwen38-27b-rtx3090/issues/159"),
    ),
    Rule(
        name="all-reduce-flags",
        sees=flag(
            "--*all-reduce* --*allreduce* --enable-nccl-* --enable-*symm-mem --enable-mscclpp"
            " --enable-quant-communications --*all2all* --*a2a* --deepep* --dcp-comm-backend --enable-p2p-check"
            " --pre-warm-nccl --disable-nccl-* --enable-deepep-* --communicator --tensor-parallel-backend"
            " --dist-backend --distributed-backend --ddp-backend --enable-peer-access --disable-peer-access"
        ),
        moves=("collective",),
        between=True,
        breaks="seldom",
        usual=(1.02, 1.6),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/nvlink/active"),
        why="An engine reduces small tensors by kernels of its own where GPUs reach each other directly, else by NCCL: "
        "two a layer, bound by latency. 50 against 66 tok/s where they had to go through the host's memory.",
        confirm="The log says which all-reduce is on or why not; nccl-tests at the size of one hidden state",
        sources=(
            SGLANG,
            "https://github.com/noonghunna/club-3090/issues/356",
            "https://github.com/syv-ai/qwen38-27b-rtx3090/issues/159",
        ),
    ),
    Rule(
        name="batches",
        sees=flag(
            "--max-num-seqs --max-num-*-seqs --max-running-requests --max-batch-* --max-concurrent-requests"
            " --parallel -np --batch-size -b --*cont-batching -cb -nocb --max-queue* --max-num-queued-*"
            " --pp-max-micro-batch-size --num-reserved-decode-tokens --num-lookahead-slots --max-num-on-the-fly"
            " --rate-limit --rate-limit-resource"
        ),
        moves=("workload", "kernel choice", "gpu memory"),
        phases=(*_STEPS, "host latency"),
        breaks="often",
        usual=(1.05, 3.0),
        told_by=("requests-preempted",),
        why="How many requests and tokens go into one step: larger batches are more tokens a second for everybody and "
        "a longer step for each, and requests wait where it is small.",
        confirm="Running and waiting requests in the engine's metrics in both runs; the same with one request",
        sources=(
            VLLM,
            SGLANG,
            LLAMA,
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/2",
        ),
    ),
    Rule(
        name="prefill-chunks",
        sees=flag(
            "--max-num-batched-tokens --max-num-tokens --max-num-scheduled-tokens --max-prefill-tokens --prefill-*"
            " --chunked-prefill-size --*chunked-prefill --enable-mixed-chunk --enable-dynamic-chunking --long-prefill-*"
            " --max-long-partial-prefills --ubatch-size -ub --enable-prefill-delayer"
            " --chunk-size --max-chunk-size --output-chunking --max-prefill-token-num --num-tokens-per-iter"
            " --max-prefill-iters --n-batch"
        ),
        moves=("workload", "kernel choice", "gpu memory"),
        phases=("prefill", "decode step", "any work"),
        breaks="seldom",
        usual=(1.02, 2.0),
        why="How many tokens of prompts go into one step: more make prefill faster (twice as many: 1.4x), and a prompt "
        "that is not cut holds up all that decode meanwhile.",
        confirm="The same with the other run's number; time to the first token, and between tokens, in both",
        confirmed=1,
        sources=(
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/2",
            VLLM,
            SGLANG,
        ),
    ),
    Rule(
        name="no-graphs",
        sees=flag(
            "--enforce-eager --disable-cuda-graph --disable-decode-cuda-graph --disable-cuda-graphs --eager-mode"
            " --no-graphs --disable-comfy-compiler"
        ),
        moves=("launch latency", "kernel choice", "gpu memory"),
        best=("absent",),
        mostly=True,
        phases=_STEPS,
        breaks="seldom",
        usual=(1.2, 6.0),
        beside=("driver/confidential_computing/feature", "cpu/policies/*/scaling_governor"),
        told_by=("without-graphs",),
        why="A captured step is one launch, an eager one hundreds, each of them work for a CPU: 46 to 11 tok/s without "
        "graphs, 1.2 to 6x on record. The start is shorter, and the cache has the memory of the graphs; one machine "
        "was faster without.",
        confirm="The same start without the flag; trace one decode step in both runs",
        confirmed=3,
        sources=(
            VLLM,
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/2",
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/5",
            "https://github.com/sgl-project/sglang/pull/24047",
        ),
    ),
    Rule(
        name="graphs-and-eager",
        sees=flag(
            "--*cuda-graph* --*cudagraph* --cuda-graph-max-bs --compilation-config -cc -O* --optimization-level"
            " --performance-mode --debug-cuda-graph"
        ),
        moves=("launch latency", "kernel choice", "gpu memory"),
        phases=_STEPS,
        breaks="seldom",
        usual=(1.2, 6.0),
        beside=("driver/confidential_computing/feature", "cpu/policies/*/scaling_governor"),
        told_by=("without-graphs",),
        why="A captured step is one launch, an eager one hundreds, each of them work for a CPU: 1.2 to 6x on record. "
        "Only batch sizes that were captured have one, and verification may have none.",
        confirm="The log tells which sizes were captured; trace one decode and one verify step in both runs",
        confirmed=3,
        sources=(
            VLLM,
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark/pull/2",
            "https://github.com/sgl-project/sglang/pull/24047",
            "https://github.com/vllm-project/vllm/issues/49370",
            "https://github.com/vllm-project/vllm/issues/54677",
        ),
    ),
    Rule(
        name="compiling-and-tuning",
        sees=flag(
            "--*torch-compile* --*autotune* --kernel-config --jit-* --skip-server-warmup --warmup --no-warmup --warmups"
            " --dynamo-* --compile --compile-* --autotuning"
        ),
        moves=("kernel choice", "launch latency", "storage"),
        phases=_STEPS,
        breaks="seldom",
        usual=(1.02, 1.2),
        why="What is fused and tuned at the start, or in the middle of the first requests where nobody warms up: "
        "tuning inside of the timed window cost 10 %, and each draw of it differs by up to 15 %.",
        confirm="Measure a second time on the same server; compare the time of the first and the second start",
        sources=(
            SGLANG,
            "https://github.com/SemiAnalysisAI/InferenceX/pull/1531",
        ),
    ),
    Rule(
        name="attention-kernels",
        sees=flag(
            "--*attention-backend --attention-* --*attn-backend --*attn-dtype --flash-attn -fa --flash-attention"
            " --triton-attention-* --flashinfer-mla-* --*-prefill-backend --*-decode-backend --*indexer*"
            " --*topk-backend --mamba-* --linear-attn-* --disable-cascade-attn --disable-sliding-window"
            " --sampling-backend --dsa-* --nsa-* --prefill-only-disable-kv-cache --enable-flashinfer-mla --enable-fa3"
            " -mla -amb --kv-sharing-fast-prefill"
        ),
        moves=("kernel choice",),
        worst=("torch_native", "eager", "flex_attention"),
        mostly=True,
        phases=_STEPS,
        breaks="often",
        usual=(1.05, 15.0),
        told_by=("without-flash-attention",),
        why="Which library computes attention and sampling, perhaps another one for prefill, decode and verification. "
        "It may bring no graph, no format or no shape that the model needs, and then another one is taken. 1.1x "
        "between two good ones, 15x to the framework's own.",
        confirm="The log names the backend that was taken for each phase; start with the other one",
        confirmed=2,
        sources=(
            VLLM,
            "https://github.com/sgl-project/sglang/pull/5211",
            "https://github.com/sgl-project/sglang/issues/5938",
            "https://github.com/AMD-AGI/Hyperloom/issues/462",
        ),
    ),
    Rule(
        name="matrix-kernels",
        sees=flag(
            "--*moe-backend --moe-runner-backend --*gemm* --linear-backend --*cutlass* --*shared-experts*"
            " --enable-eplb --expert-* --ir-op-priority --enable-fused-* --enable-flashinfer-*-moe"
            " --enable-triton-kernel-moe -fmoe --fused-moe --tensorcores --dlblas"
        ),
        moves=("kernel choice",),
        phases=_STEPS,
        breaks="often",
        usual=(1.02, 1.7),
        why="Which kernels multiply experts and quantised weights, and how experts are spread over GPUs: a choice that "
        "is best for 4,096 tokens of a prompt is not for the few of a decode step.",
        confirm="Start with `auto`; the log's line on the backend and on a missing tuned configuration",
        sources=(
            SGLANG,
            "https://github.com/sgl-project/sglang/pull/7687",
            "https://github.com/sgl-project/sglang/pull/24562",
        ),
    ),
    Rule(
        name="speculation-flags",
        sees=flag(
            "--speculative* --spec-* --num-speculative-tokens --decoupled-spec-* --draft* --model-draft -md --*-draft"
            " -ngld -devd -ctkd -ctvd --ngram-* --lookup-cache-* -lcs -lcd --enable-multi-layer-eagle --eagle3 --mtp"
            " --nextn --dflash --speculate -spec-draft-tp"
        ),
        moves=("accept length", "kernel choice", "launch latency", "gpu memory"),
        phases=("decode step", "verify step", "accept length", "start-up", "any work"),
        breaks="seldom",
        usual=(1.05, 3.0),
        why="How tokens are drafted and how many are verified at once. A wrong name of the method, or a draft whose "
        "weights were not loaded, gives an accept length of 1: all the cost and no gain, without an error.",
        confirm="Accept length and acceptance rate in the engine's metrics; the same prompts without speculation",
        confirmed=2,
        sources=(VLLM, SGLANG, "https://github.com/vllm-project/vllm/pull/37667"),
    ),
    Rule(
        name="cache-size",
        sees=flag(
            "--gpu-memory-utilization --device-memory-utilization --mem-fraction-static --cuda-memory-fraction"
            " --*free-gpu-memory-fraction --kv-cache-memory-bytes --kv-cache-dtype* --cache-type-* -ctk -ctv"
            " --max-total-tokens --max-model-len --context-length --ctx-size --max-seq-len --max-total-*"
            " --max-input-* --num-gpu-blocks-override --block-size --page-size --swa-* --max-mamba-cache-size"
            " --*hybrid-kv-cache* --kv-unified -kvu -no-kvu --fit* -fit* --watermark -c --n-ctx --cache-size"
            " --cache-max-entry-count --cache-block-seq-len --session-len --num-gpu-blocks --cpu-kvcache-space-bytes"
            " --gpu-memory-limit --kv-unified-per-slot --context-shift --no-context-shift -dt --defrag-thold -gan"
            " -gaw --grp-attn-* --hybrid-kvcache-ratio --fail-fast-on-attention-window-too-large"
        ),
        moves=("gpu memory", "workload", "kernel choice"),
        phases=_STEPS,
        breaks="often",
        usual=(1.02, 6.7),
        beside=("gpu/*/memory/total",),
        told_by=("gpu-memory-full", "no-cache-blocks", "cache-below-context", "requests-preempted"),
        why="How many tokens the key-value cache holds, and in which format. When it is full, requests are pushed out "
        "and computed again: 2 against 13 tok/s for one pool of half the size. Too large, and the start fails.",
        confirm="Cache use and preemptions in the engine's metrics; the log's number of blocks or tokens in both",
        confirmed=2,
        sources=(
            VLLM,
            SGLANG,
            "https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark/issues/14",
            "https://github.com/rwlove/home-ops/pull/13384",
        ),
    ),
    Rule(
        name="no-prefix-caching",
        sees=flag("--disable-radix-cache --no-enable-prefix-caching --disable-chunked-prefix-cache --no-cache-prompt"),
        moves=("workload", "gpu memory"),
        best=("absent",),
        mostly=True,
        phases=("prefill", "decode step", "host latency", "any work"),
        usual=(1.02, 2.3),
        why="Every prompt is computed whole, also what was seen before: identical prompts of a benchmark cost next to "
        "nothing with the cache, 1.86 to 2.3x in one sweep. Prompts that are all new only lose the search for them.",
        confirm="Hit rate of the cache in the engine's metrics; measure with prompts that are new",
        sources=(VLLM, SGLANG, "https://github.com/vllm-project/vllm/issues/54227"),
    ),
    Rule(
        name="prefix-caching",
        sees=flag(
            "--*prefix-cach* --prefix-match-unit --disable-radix-cache --radix-* --enable-*radix-cache"
            " --disable-chunked-prefix-cache --*cache-prompt --cache-reuse --cache-ram -cram --*cache-idle-slots"
            " --slot-* -sps --ctx-checkpoints -ctxcp --swa-checkpoints -cms --checkpoint-min-step --prompt-cache*"
            " --*session*"
        ),
        moves=("workload", "gpu memory"),
        phases=("prefill", "decode step", "host latency", "any work"),
        usual=(1.02, 2.3),
        why="A prompt whose beginning was seen before is not computed again: identical prompts of a benchmark cost "
        "next to nothing from the second on, 1.86 to 2.3x in one sweep.",
        confirm="Hit rate of the cache in the engine's metrics; measure with prompts that are new",
        confirmed=1,
        sources=(
            VLLM,
            SGLANG,
            "https://github.com/vllm-project/vllm/issues/54227",
            "https://github.com/0xBakeer/qwen38-flash-next-spark/issues/9",
        ),
    ),
)
