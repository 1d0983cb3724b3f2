"""Flags of ComfyUI, Stable Diffusion's web UIs: what stays on the GPU, attention, precision, allocation, previews."""

from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.server_flags import flag

_COMFY = "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/cli_args.py"
_WEBUI = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/modules/cmd_args.py"

RULES: tuple[Rule, ...] = (
    Rule(
        name="models-off-the-gpu",
        sees=flag(
            "--lowvram --medvram --medvram-* --novram --always-low-vram --always-no-vram --always-offload-from-vram"
            " --disable-smart-memory --enable-model-cpu-offload --enable-sequential-cpu-offload --model-cpu-offload"
            " --sequential-cpu-offload"
        ),
        moves=("pcie link", "host memory bandwidth", "gpu memory", "launch latency"),
        best=("absent",),
        mostly=True,
        over_pcie="all",
        breaks="seldom",
        beside=("gpu/*/memory/total", "gpu/*/pcie/link_gen_max"),
        told_by=("gpu-memory-full",),
        why="Parts of the model leave the GPU when their turn is over and come back over PCIe: once an image where "
        "whole models move, in each step and layer where modules do, which its manual calls devastating. A model that "
        "does not fit otherwise is faster with it.",
        confirm="nvidia-smi dmon -s t while an image is made; the same without the flag",
        sources=(_WEBUI, _COMFY, "https://github.com/Mikubill/sd-webui-controlnet/issues/22"),
    ),
    Rule(
        name="models-kept-on-the-gpu",
        sees=flag(
            "--highvram --gpu-only --always-gpu --always-high-vram --normalvram --always-normal-vram --reserve-vram"
            " --vram-headroom --disable-dynamic-vram --enable-dynamic-vram --disable-nvml-pressure --lowram --high-ram"
            " --gpu-memory --cuda-in-old-version"
        ),
        moves=("gpu memory", "pcie link", "host memory"),
        breaks="often",
        beside=("gpu/*/memory/total", "memory/total"),
        told_by=("gpu-memory-full",),
        why="How much of the GPU's memory models may keep between two images, and how much is left free: what was "
        "unloaded is loaded again, and what was kept may leave no room for the next step.",
        confirm="Lines on loading and unloading in the log of the second image; memory of the GPU between two",
        sources=(_COMFY,),
    ),
    Rule(
        name="work-on-the-cpu",
        sees=flag("--cpu --use-cpu --cpu-vae --no-cuda --no-gpu --force-cpu --embeddings-device --clip-on-cpu"),
        moves=("cpu time", "host memory bandwidth", "availability"),
        best=("absent",),
        mostly=True,
        breaks="seldom",
        why="What is named is computed by the CPU: tens of times as long for a model of images or a large one, and "
        "hardly anything for an encoder of short prompts.",
        confirm="nvidia-smi while it runs; the same without the flag",
        sources=(_COMFY, _WEBUI),
    ),
    Rule(
        name="copies-beside-arithmetic",
        sees=flag(
            "--async-offload --disable-async-offload --cuda-stream --pin-shared-memory --disable-pinned-memory"
            " --force-non-blocking --fast-disk --disable-fast-disk --prefetch-offload --prefetch-offload-*"
        ),
        moves=("pcie link", "page placement", "storage"),
        over_pcie="all",
        breaks="seldom",
        beside=("gpu/*/pcie/link_gen_max",),
        why="Weights of the next layer are copied from pinned memory while this one computes. Pages that are not "
        "pinned are copied twice and are waited for, and pinned ones are taken from the host.",
        confirm="A trace of one step: copies beside kernels, or between them",
        sources=(_COMFY,),
    ),
    Rule(
        name="full-precision",
        sees=flag(
            "--no-half --no-half-vae --force-fp32 --fp32-unet --fp64-unet --fp32-vae --fp32-text-enc --all-in-fp32"
            " --vae-in-fp32 --force-upcast-attention"
        ),
        moves=("gpu compute", "gpu memory bandwidth", "gpu memory"),
        best=("absent",),
        mostly=True,
        breaks="seldom",
        usual=(2.5, 2.5),
        why="Twice the bytes, and no tensor cores. It is for models that overflow in 16 bits, and for GPUs that are "
        "slower with them: on a GTX 1660 an image took 12 s in 32 bits against 30.",
        confirm="The same image without the flag",
        sources=(_WEBUI, "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9838"),
    ),
    Rule(
        name="attention-of-images",
        sees=flag(
            "--xformers --xformers-* --force-enable-xformers --disable-xformers --opt-split-attention*"
            " --opt-sub-quad-attention --sub-quad-* --opt-sdp-* --disable-opt-split-attention --use-*-attention"
            " --attention-split --attention-quad --attention-pytorch --disable-attention-upcast"
            " --dont-upcast-attention --enable-xformers-memory-efficient-attention --sage"
        ),
        moves=("kernel choice", "gpu memory"),
        breaks="seldom",
        usual=(1.05, 3.8),
        told_by=("without-flash-attention",),
        why="Which code computes attention, all at once or in parts: of one image a step took 2.05 s with xformers, "
        "2.77 with the framework's own, 5.66 and 7.76 with those that split, which took less memory or more. What is "
        "not installed or not for this GPU is passed over.",
        confirm="The log's line on attention; the same image with the other run's flag",
        sources=(_WEBUI, _COMFY, "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/11487"),
    ),
    Rule(
        name="fast-and-untested",
        sees=flag("--fast --enable-triton-backend --disable-triton-backend --supports-fp8-compute"),
        moves=("gpu compute", "kernel choice"),
        breaks="seldom",
        why="ComfyUI sums products in 16 bits, multiplies in 8, tunes kernels at the first image or takes those of "
        "Triton. GPUs of games have twice the arithmetic where sums are in 16 bits.",
        confirm="The second image with and without it",
        sources=(_COMFY,),
    ),
    Rule(
        name="allocator-flags",
        sees=flag("--cuda-malloc --disable-cuda-malloc --cuda-malloc-async --always-cuda-malloc"),
        moves=("gpu memory", "launch latency"),
        breaks="often",
        beside=("process/*/env/PYTORCH_CUDA_ALLOC_CONF",),
        told_by=("gpu-memory-full",),
        why="The driver's pool or the framework's: they break memory into other pieces, so that one fits where the "
        "other runs out, and neither allocates much once it is warm.",
        confirm="Reserved and allocated memory after some images, in both",
        sources=(_COMFY, "https://github.com/theroyallab/tabbyAPI/blob/main/config_sample.yml"),
    ),
    Rule(
        name="results-kept",
        sees=flag("--cache-classic --cache-lru --cache-none --no-cache --disable-cache --use-cache"),
        moves=("workload", "host memory", "gpu memory"),
        phases=("prefill", "host latency", "any work"),
        why="What was computed for the last prompt is taken again where its inputs are the same: a second image costs "
        "less than the first, or nothing.",
        confirm="A prompt and a seed that are new, in both runs",
        sources=(_COMFY,),
    ),
    Rule(
        name="previews",
        sees=flag("--preview-method --preview-size --live-preview*"),
        moves=("workload", "cpu time"),
        best=("absent", "none"),
        mostly=True,
        phases=("any work", "host latency"),
        why="Each step, or some of them, is decoded to a picture and sent: a small model more in each, or a matrix.",
        confirm="The same with previews off",
        sources=(_COMFY,),
    ),
    Rule(
        name="guidance-in-one-batch",
        sees=flag("--always-batch-cond-uncond --cfg-cache --batch-cond-uncond"),
        moves=("workload", "gpu memory"),
        phases=("any work",),
        breaks="seldom",
        why="With guidance each step asks the model twice, in one batch where memory allows, else one after the other.",
        confirm="Seconds a step in both; batch size of the first product in a trace",
        sources=(_WEBUI,),
    ),
    Rule(
        name="work-at-the-start",
        sees=flag(
            "--update-all-extensions --skip-install --reinstall-* --no-hashing --no-download-sd-model"
            " --enable-asset-hashing --disable-assets --model-checksum --offline --disable-api-nodes"
            " --disable-partner-nodes --model-load-retry-count --delete-ckpt-after-loading --pt-load-map-location"
            " --no-tests --tests"
        ),
        moves=("storage", "network", "system calls"),
        phases=("start-up", "any work"),
        breaks="seldom",
        why="What is fetched, installed, compared or hashed before the first work: a checkpoint is read whole "
        "for its digest, and a registry that does not answer is waited for.",
        confirm="Lines of the log with their times, of a second start",
        sources=(_WEBUI, _COMFY),
    ),
)
