"""Flags of launchers and trainers: ranks and where they run, shards, recomputation, batches, number formats, input."""

from fingerprint.explain.mechanisms.cpu_time import CONTENDED, THROTTLED
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.server_flags import flag

_TORCHRUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
_ACCELERATE = "https://huggingface.co/docs/accelerate/package_reference/cli"
_TRAINER = "https://huggingface.co/docs/transformers/perf_train_gpu_one"
_ZERO = "https://huggingface.co/docs/transformers/deepspeed"
_MEGATRON = "https://swift.readthedocs.io/en/latest/Megatron-SWIFT/Command-line-parameters.html"
_MPIRUN = "https://man.archlinux.org/man/mpirun.1.en"

RULES: tuple[Rule, ...] = (
    Rule(
        name="ranks-launched",
        letters="of ranks",
        sees=flag(
            "--nproc-per-node --nproc --num-processes --num-machines --num-nodes --num-gpus --gpus --world-size"
            " --ntasks* --gpus-per-task --hostfile --machinefile -H -np --include --exclude --deepspeed-hostfile"
            " --mpirun-hostfile --deepspeed-inclusion-filter --deepspeed-exclusion-filter --multi-gpu"
            " --multiprocessing-distributed --standalone --num-workers-per-node --force-multi"
        ),
        moves=("workload", "collective", "gpu memory", "network"),
        breaks="often",
        beside=("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read"),
        told_by=("cuda-invalid-ordinal", "all-reduce-ranks"),
        why="How many processes work on it, on which hosts: each has a share of the batch or the model, and all wait "
        "for the slowest at each exchange. More ranks than GPUs fail, or share one.",
        confirm="nvidia-smi during the run tells which GPUs work; the same number of ranks in both runs",
        sources=(_TORCHRUN, _ACCELERATE, _MPIRUN),
    ),
    Rule(
        name="ranks-bound-to-cores",
        sees=flag(
            "--bind-to --map-by --rank-by --cpu-bind --gpu-bind --mem-bind --cpus-per-task --cpu-list --cpu-set"
            " --bind-cores-to-rank --bind-core-list --enable-cpu-affinity --oversubscribe --overcommit --exclusive"
            " --cpuset-cpus --cpuset-mems --host-policy --localalloc --cpu-node-bind --hint --cpus"
        ),
        moves=("cpu time", "page placement", "wake latency"),
        shows=(*THROTTLED, *CONTENDED),
        breaks="seldom",
        usual=(1.02, 1.3),
        beside=("process/*/affinity", "gpu/*/pcie/numa_node", "numa/online"),
        why="Which cores a rank may use, and which memory it gets. MPI binds a process to one core where it is told "
        "nothing, and all its threads share that one. Adam on the CPU took 3,084 ms a step unbound and 2,383 with "
        "cores of its own for each rank.",
        confirm="taskset -cp PID of one rank in both runs; run_delay of its threads",
        sources=(_MPIRUN, "https://github.com/microsoft/DeepSpeed/pull/7474"),
    ),
    Rule(
        name="exported-variables",
        letters="of ranks",
        sees=flag("-x -genv -genvlist -env --export --env-file --with-env"),
        moves=("collective", "kernel choice", "cpu time", "network"),
        breaks="seldom",
        beside=("process/*/env/*",),
        why="Variables that a launcher hands to its ranks: what is not named may not reach those of other hosts, and "
        "then NCCL goes another way there.",
        confirm="`env` in place of the program, on each host",
        sources=(_MPIRUN,),
    ),
    Rule(
        name="transport-of-mpi",
        sees=flag("--mca -mca --mpi --prtemca -iface --mpirun-ccl"),
        moves=("network", "collective"),
        breaks="often",
        why="Which ways MPI takes between processes, and over which interface. Of NCCL's traffic it carries only the "
        "first addresses, so that a wrong one is a start that hangs. Of MPI's own collectives it carries all.",
        confirm="The same with the other run's value; ompi_info --all names the default",
        sources=(_MPIRUN,),
    ),
    Rule(
        name="rendezvous",
        sees=flag(
            "--rdzv-* --main-process-ip --machine-rank --rank --local-rank --dist-url --local-addr --same-network"
            " --role --start-method --launcher --launcher-args --no-ssh --no-local-rank --max-restarts"
            " --monitor-interval --elastic-training --min-elastic-nodes --max-elastic-nodes --virtual-local-rank"
            " --deepspeed-multinode-launcher --server-role --disagg-cluster-uri --headless --run-path --no-python"
            " --module --enable-each-rank-log"
        ),
        moves=("network", "availability"),
        phases=("start-up",),
        breaks="often",
        why="Where ranks find each other, in which order, and what happens when one dies: a start that waits for a "
        "host that never comes, or a run that began again in the middle. It moves no step.",
        confirm="Restarts in the launcher's log; a connection to that address and port from each host",
        sources=(_TORCHRUN, _ACCELERATE),
    ),
    Rule(
        name="sharded-state",
        sees=flag(
            "--zero-stage --use-deepspeed --deepspeed --deepspeed-config --zero3-* --use-fsdp --fsdp --fsdp-* --ddp"
            " --use-distributed-optimizer --use-megatron-lm --use-megatron-fsdp --data-parallel-sharding-strategy"
            " --ulysses"
        ),
        moves=("collective", "gpu memory", "launch latency"),
        breaks="often",
        beside=("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read", "gpu/*/memory/total"),
        why="What each GPU holds of weights, gradients and the optimiser's state. In the last stage the weights of "
        "each layer are gathered twice a step, half as much traffic again as gradients alone: over NVLink it hides "
        "behind arithmetic, over PCIe or a slow network it does not.",
        confirm="Bytes over NVLink, PCIe or the adapter of one step; the next stage below, with a smaller batch",
        sources=(_ZERO, _ACCELERATE),
    ),
    Rule(
        name="state-on-the-host",
        sees=flag(
            "--offload-optimizer-device --offload-param-device --offload-optimizer-* --offload-param-*"
            " --fsdp-offload-params --optimizer-cpu-offload --optimizer-offload-fraction --cpu-offload"
            " --use-cpu-initialization --fsdp-cpu-ram-efficient-loading"
        ),
        moves=("pcie link", "cpu time", "host memory bandwidth", "host memory", "gpu memory"),
        breaks="often",
        shows=CONTENDED,
        beside=("gpu/*/pcie/link_gen_max", "memory/total", "gpu/*/pcie/numa_node"),
        why="Gradients cross PCIe, the CPU updates the weights, and these cross it back, in each step, while the GPU "
        "stands still: the link's width and the CPU's memory decide how long a step takes.",
        confirm="nvidia-smi dmon -s t and the load of the CPU during a step; the same with the state on the GPU",
        sources=(_ZERO, "https://github.com/deepspeedai/DeepSpeed/blob/master/blogs/zenflow-corebinding/README.md"),
    ),
    Rule(
        name="exchange-behind-arithmetic",
        sees=flag(
            "--overlap-grad-reduce --overlap-param-gather* --tp-comm-overlap* --delay-wgrad-compute --ddp-*"
            " --fsdp-backward-prefetch* --fsdp-forward-prefetch --overlap-p2p-communication"
            " --no-async-tensor-model-parallel-allreduce --moe-token-dispatcher-type"
            " --moe-shared-expert-overlap --overlap-moe-expert-parallel-comm --no-overlap-p2p-communication"
        ),
        moves=("collective", "launch latency", "gpu memory"),
        between=True,
        breaks="seldom",
        beside=("process/*/env/CUDA_DEVICE_MAX_CONNECTIONS",),
        why="Gradients are reduced and weights gathered while the next layer computes, in buckets of some megabytes. "
        "Without it, or with buckets that come too late, each exchange is waited for. Where links are slow it shows in "
        "full, and where the kernels of NCCL take multiprocessors it costs arithmetic.",
        confirm="A trace of one step: kernels of NCCL beside those that compute, or between them",
        sources=(_MEGATRON, _ACCELERATE),
    ),
    Rule(
        name="activations-computed-again",
        sees=flag(
            "--gradient-checkpointing* --recompute-* --fsdp-activation-checkpointing --activation-checkpointing"
            " --checkpoint-activations --checkpoint-num-layers --distribute-saved-activations"
        ),
        moves=("gpu compute", "gpu memory", "workload"),
        best=("absent",),
        mostly=True,
        breaks="often",
        usual=(1.03, 1.33),
        told_by=("gpu-memory-full",),
        why="Results of layers are not kept for the way back but computed a second time: a step is about 20 % longer, "
        "a third where everything is. Without it the batch may not fit.",
        confirm="The same without it and with a smaller batch",
        sources=("https://huggingface.co/docs/transformers/en/grad_checkpointing", _MEGATRON),
    ),
    Rule(
        name="training-batch",
        sees=flag(
            "--per-device-*-batch-size --micro-batch-size --global-batch-size --train-batch-size --eval-batch-size"
            " --train-micro-batch-size-per-gpu --gradient-accumulation-steps --auto-find-batch-size"
            " --rampup-batch-size --batch --bs --max-length --max-seq-length --seq-length --seq-len"
            " --max-position-embeddings --packing --group-by-length --cutoff-len --block-length --image-size --img-size"
            " --imgsz --crop-size --resolution"
        ),
        moves=("workload", "kernel choice", "gpu memory"),
        breaks="often",
        beside=("gpu/*/memory/total",),
        told_by=("gpu-memory-full",),
        why="Samples and tokens of one step, and how often gradients are exchanged for them: a larger batch fills the "
        "GPU, takes longer a step and less a sample, until it does not fit. Attention grows with the square of the "
        "length, and so does an image with its side.",
        confirm="Samples or tokens a second instead of steps; the same batch",
        sources=(_TRAINER, _MEGATRON),
    ),
    Rule(
        name="training-precision",
        sees=flag(
            "--bf16 --fp16 --tf32 --mixed-precision --amp --amp-* --precision --fp8 --fp8-format --fp8-margin"
            " --fp8-backend --fp8-recipe --fp8-param-gather --opt-level --half --downcast-bf16 --params-dtype"
            " --bf16-full-eval --fp16-full-eval --first-last-layers-bf16 --allow-tf32"
            " --accumulate-allreduce-grads-in-fp32 --grad-reduce-in-bf16 --main-params-dtype --fp32"
        ),
        moves=("gpu compute", "gpu memory bandwidth", "gpu memory", "kernel choice"),
        breaks="seldom",
        why="Products in 32 bits run outside of the tensor cores, unless TF32 is allowed. Half the bytes are half the "
        "traffic of what memory bounds, and sixteen bits or eight are several times the arithmetic. What the GPU has "
        "no units for is emulated.",
        confirm="The names of the kernels of products in a trace of one step; the same with the other run's format",
        sources=(_TRAINER, _ACCELERATE),
    ),
    Rule(
        name="training-kernels",
        sees=flag(
            "--optim --optimizer --use-liger-kernel --cross-entropy-loss-fusion --cross-entropy-fusion-impl"
            " --gradient-accumulation-fusion --transformer-impl --use-flash-attn --attn-implementation"
            " --use-mcore-models --use-fused-* --fused-* --apply-rope-fusion --moe-permute-fusion --flash-attn-2"
            " --use-apex --apex --enable-flash-*"
        ),
        moves=("kernel choice", "launch latency", "gpu memory"),
        breaks="often",
        why="Which library computes attention, the loss and the step of the optimiser, in one kernel or in many: a "
        "fused one saves launches and intermediate results, and may not be built for this GPU.",
        confirm="The same with the other run's value; kernels of one step in a trace",
        sources=(_TRAINER, _MEGATRON),
    ),
    Rule(
        name="memory-channels-last",
        sees=flag("--channels-last --opt-channelslast --force-channels-last --memory-format --nhwc"),
        moves=("kernel choice", "gpu memory bandwidth"),
        operations=r"conv(\d|olution|_|$)|batch_?norm",
        usual=(1.08, 1.35),
        why="Tensor cores convolve images whose channels lie side by side. In the other order each layer turns them "
        "around first: 8 to 35 % of training, 22 % of ResNet-50. Models without convolutions do not feel it.",
        confirm="Kernels called nchwToNhwc in a trace of one step",
        sources=(
            "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
            "https://docs.fast.ai/callback.channelslast.html.md",
        ),
    ),
    Rule(
        name="emptied-caches",
        sees=flag("--torch-empty-cache-steps --empty-unused-memory-level --empty-cache-every"),
        moves=("launch latency", "gpu memory"),
        best=("absent",),
        mostly=True,
        why="Memory is given back to the driver in the middle of training and asked for again: each of both stops the "
        "GPU until it is done.",
        confirm="cudaFree and cudaMalloc in a trace of some steps; the same without it",
        sources=(_TRAINER,),
    ),
    Rule(
        name="garbage-collection-flags",
        sees=flag("--manual-gc* --gc-threshold --enable-cudagraph-gc --gc-interval --gc-freq"),
        moves=("cpu time", "wake latency", "collective"),
        why="Python's collector stops a process for tens of milliseconds whenever it likes. Of many ranks another one "
        "stops each step and all wait for it, unless they collect together or the threshold is high.",
        confirm="Steps that are longer than the others, and which rank was last; gc.callbacks",
        sources=(_MEGATRON, "https://docs.sglang.io/advanced_features/server_arguments.html"),
    ),
    Rule(
        name="input-workers",
        sees=flag(
            "--dataloader-* --num-workers -j --workers --prefetch-factor --pin-memory --persistent-workers"
            " --data-workers --preprocessing-num-workers --loader-workers --train-workers --dummy --mock-data"
            " --synthetic --use-synthetic-data --cache-images --no-data-sharding --data-backend --dali*"
            " --data --data-path --data-dir --train-data"
        ),
        moves=("cpu time", "storage", "page cache", "host memory", "pcie link"),
        shows=(*THROTTLED, *CONTENDED),
        breaks="seldom",
        beside=("process/*/cgroup/cpu_max", "process/*/cgroup/cpuset_cpus", "container/*/shm_size"),
        why="Processes that read and decode samples ahead of the GPU: too few and it waits for each batch, more than "
        "there are cores and they stop each other and the launches. They hand over by /dev/shm, which may be small. "
        "Made-up data costs nothing, and measures another thing.",
        confirm="The same with made-up data; time that a step waits for its batch",
        sources=(_TRAINER,),
    ),
    Rule(
        name="stops-between-steps",
        sees=flag(
            "--save-steps --save-strategy --save-interval --save-total-limit --eval-steps --eval-interval --eval-iters"
            " --eval-strategy --evaluation-strategy --logging-steps --async-save --ckpt-format"
            " --ckpt-fully-parallel-save --checkpoint-freq --save-only-model --checkpoint-every --validation-steps"
        ),
        moves=("storage", "workload", "system calls"),
        phases=("any work",),
        breaks="seldom",
        why="A checkpoint is written and a test set is gone through between two steps, while all ranks wait, and a "
        "loss that is printed waits for the GPU: a mean over the run holds them.",
        confirm="Time of single steps; the run without saving and evaluation",
        sources=(_MEGATRON,),
    ),
    Rule(
        name="training-length",
        sees=flag(
            "--epochs --num-train-epochs --max-steps --train-iters --train-samples --exit-interval --exit-duration*"
            " --resume --resume-from-checkpoint --evaluate --do-train --do-eval --max-train-steps --limit-train-batches"
            " --pretrained --num-steps --total-steps --max-train-samples"
        ),
        moves=("workload",),
        phases=("any work", "start-up"),
        why="How much is done at all, and from where it goes on: the time of the whole run goes with it, that of a "
        "step does not. Of few steps the first ones, which compile and tune, are a large share.",
        confirm="Time of one step late in either run",
        sources=(_MEGATRON,),
    ),
    Rule(
        name="shape-of-the-model",
        sees=flag(
            "--arch --hidden-size --num-layers --num-attention-heads --num-query-groups --ffn-hidden-size"
            " --num-experts --vocab-size --padded-vocab-size --make-vocab-size-divisible-by --kv-channels --n-layer"
            " --n-head --n-embd --model-size --model-config"
        ),
        moves=("workload", "gpu memory", "kernel choice"),
        breaks="often",
        why="Another model. A size that is no multiple of 64 or 128 leaves parts of the tensor cores' tiles empty, so "
        "that a smaller one can be slower.",
        confirm="The same with the other run's sizes; number of parameters in either log",
        sources=(
            _MEGATRON,
            "https://docs.nvidia.com/deeplearning/performance/pdf/Matrix-Multiplication-Background-User-Guide.pdf",
        ),
    ),
    Rule(
        name="training-hyperparameters",
        sees=flag(
            "--lr --lr-* --learning-rate --min-lr --momentum --weight-decay --wd --adam-* --max-grad-norm --clip-grad"
            " --gradient-clipping --label-smoothing* --init-method-std --init-std --norm-epsilon --loss-scale"
            " --initial-loss-scale --beta1 --beta2 --warmup-ratio --warmup-epochs --num-warmup-steps --ema-decay"
        ),
        moves=("workload",),
        phases=("any work",),
        unused=True,
        why="Numbers that go into a product: they decide what is learnt, and a step takes as long whichever they are.",
        confirm="The same with the other run's value, for some steps",
        sources=(_MEGATRON,),
    ),
    Rule(
        name="container-flags",
        sees=flag(
            "--shm-size --ipc --ulimit --memory --memory-swap --network --net --runtime --privileged --cap-add"
            " --security-opt --device-cgroup-rule --volume --mount --pids-limit --nv --pid"
        ),
        moves=("host memory", "cpu time", "network", "storage", "availability"),
        breaks="often",
        beside=("container/*/shm_size", "process/*/cgroup/memory_max"),
        why="What a container may use: 64 MiB of /dev/shm where nothing is said, which NCCL and data loaders fill, an "
        "own network that is translated, memory that ends the process, a folder that lies elsewhere.",
        confirm="The same started outside; df /dev/shm and ulimit -a inside",
        sources=("https://github.com/moby/moby/issues/29492",),
    ),
)
