"""Memory of a GPU: how much there is, its error correction, its errors and repairs, and the window onto it."""

from fingerprint.explain.mechanisms.gpu_clocks import SM_LOWER
from fingerprint.explain.mechanisms.graph import Rule

NVML = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html"
ERRORS = "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html"
RETIREMENT = "https://docs.nvidia.com/deploy/dynamic-page-retirement/index.html"

RULES: tuple[Rule, ...] = (
    Rule(
        name="gpu-memory-size",
        sees=("gpu/*/memory/total",),
        moves=("gpu memory",),
        way="more helps",
        breaks="often",
        usual=(1.1, 7.0),
        beside=("gpu/*/ecc/mode_current", "gpu/*/virtualization/mode", "gpu/*/memory/reserved"),
        told_by=("gpu-memory-full", "no-cache-blocks", "cache-below-context"),
        why="The key-value cache gets what weights leave: a cache that is too small preempts requests (13 to 2 tok/s) "
        "or spills to the host (3.2x). What is larger than needed moves nothing.",
        confirm="compare the cache's size in the server's log; set it to the smaller of the two on both",
        confirmed=1,
        sources=("https://github.com/tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark/issues/14", NVML),
    ),
    Rule(
        name="ecc-mode",
        sees=("gpu/*/ecc/mode_current",),
        moves=("gpu memory bandwidth", "gpu memory"),
        best=("disabled",),
        mostly=True,
        breaks="seldom",
        usual=(1.02, 1.15),
        beside=("gpu/*/name", "gpu/*/memory/total"),
        why="On GDDR the check bits are stored in the memory itself and read with the data: less of both size and "
        "bandwidth, of 16 GB one, and a model that just fitted does not. HBM has room of its own for them. No thread "
        "with a measured effect on speed was found.",
        confirm="a copy within device memory on both (nvbandwidth); nvidia-smi -e, a reset, and once more",
        sources=(
            "https://github.com/converged-computing/performance-study/issues/61",
            "https://exafunction.com/blog/ecc-gpu",
            NVML,
        ),
    ),
    Rule(
        name="corrected-memory-errors",
        sees=(
            "gpu/*/ecc/*/corrected",
            "gpu/*/ecc/*/dram_corrected",
            "gpu/*/health/remapped_rows/correctable",
            "gpu/*/health/retired_pages/single_bit_ecc",
        ),
        moves=("gpu memory bandwidth",),
        way="less helps",
        breaks="seldom",
        beside=("gpu/*/health/recovery_action",),
        why="Failing memory is slow before it fails: HBM that needed correcting was first taken for a fault of "
        "speculative decoding, and monitoring calls took 45 s, under load only.",
        confirm="run the same work on another GPU; nvidia-smi -q -d ECC,ROW_REMAPPER before and after",
        sources=("https://github.com/NVIDIA/DCGM/issues/313", ERRORS),
    ),
    Rule(
        name="uncorrected-memory-errors",
        sees=(
            "gpu/*/ecc/*/uncorrected",
            "gpu/*/ecc/*/dram_uncorrected",
            "gpu/*/health/remapped_rows/uncorrectable",
            "gpu/*/health/retired_pages/double_bit",
        ),
        moves=("availability", "gpu memory"),
        way="less helps",
        breaks="often",
        beside=("gpu/*/health/recovery_action", "gpu/*/health/remapped_rows/pending"),
        told_by=("cuda-ecc-error",),
        why="The processes that meet one are ended, and the page is taken out of use: whatever was being done is "
        "started again, or runs on fewer GPUs. One node's errors failed a whole job.",
        confirm="nvidia-smi -q -d ECC; dmesg for Xid 48, 63, 64, 94 and 95; leave this GPU out and repeat",
        confirmed=2,
        sources=(
            "https://github.com/MFlowCode/MFC/pull/1748",
            ERRORS,
            "https://github.com/vllm-project/vllm/issues/5222",
        ),
    ),
    Rule(
        name="sram-errors",
        sees=("gpu/*/ecc/*/sram_*", "gpu/*/ecc/sram_sources/*", "gpu/*/ecc/sram_threshold_exceeded"),
        moves=("availability",),
        breaks="often",
        beside=("gpu/*/health/recovery_action",),
        why="Caches, registers and the firmware's processors have no spare rows: an error that cannot be corrected "
        "ends work, and those that repeat are a board to be returned.",
        confirm="nvidia-smi -q -d ECC (SRAM); the maker's field diagnosis; leave this GPU out and repeat",
        sources=(ERRORS, NVML),
    ),
    Rule(
        name="row-remapping",
        sees=(
            "gpu/*/health/remapped_rows/pending",
            "gpu/*/health/remapped_rows/failure",
            "gpu/*/health/remapped_rows/*_inactive",
            "gpu/*/health/remapped_rows/histogram/*",
            "gpu/*/health/retired_pages/pending*",
            "gpu/*/health/unrepairable_memory",
        ),
        moves=("gpu memory", "availability"),
        breaks="often",
        beside=("gpu/*/health/recovery_action",),
        told_by=("cuda-ecc-error",),
        why="Until the next reset a bad row's pages are kept out of use, so that work goes on in a little less "
        "memory; the errors that led there ended processes. Rows already replaced cost nothing that anybody measured.",
        confirm="reset the GPU while nothing runs on it (nvidia-smi -r) and repeat; a failure is a board to be "
        "returned",
        sources=(ERRORS, RETIREMENT),
    ),
    Rule(
        name="channel-repair",
        sees=("gpu/*/health/channel_repair_pending",),
        moves=("gpu memory bandwidth", "gpu memory"),
        breaks="often",
        why="A channel of the memory waits to be repaired at the next reset.",
        confirm="reset the GPU while nothing runs on it (nvidia-smi -r), and compare a copy within device memory",
        sources=(ERRORS, NVML),
    ),
    Rule(
        name="multiprocessor-repair",
        sees=("gpu/*/health/tpc_repair_pending",),
        moves=("gpu compute", "availability"),
        breaks="often",
        why="Multiprocessors with errors wait to be exchanged for spare ones at the next reset.",
        confirm="reset the GPU while nothing runs on it (nvidia-smi -r) and repeat",
        sources=(NVML,),
    ),
    Rule(
        name="recovery-action",
        sees=("gpu/*/health/recovery_action",),
        moves=("availability", "sm clock", "nvlink"),
        shows=(SM_LOWER,),
        breaks="often",
        usual=(1.5, 2.5),
        beside=("driver/log/*/last_xid",),
        why="After a fault the driver asks for a reset, a drain or a reboot; what runs before that runs on a GPU that "
        "is not whole: after Xid 31 matrices were multiplied at 20.9 instead of 49.8 TFLOPS.",
        confirm="do what it asks for (nvidia-smi -q, `GPU Recovery Action`) and repeat",
        sources=("https://github.com/NVIDIA/DCGM/issues/263", "https://docs.nvidia.com/deploy/xid-errors/index.html"),
    ),
    Rule(
        name="bar1-size",
        sees=("gpu/*/memory/bar1_total",),
        moves=("pcie link", "collective", "gpu memory"),
        way="more helps",
        breaks="seldom",
        usual=(1.3, 3.0),
        beside=("gpu/*/peers/*/p2p_read", "driver/module/flavour"),
        told_by=("peer-mapping-failed",),
        why="Without resizable BAR the host and the peers see a window of 256 MiB: what maps memory directly, as peer "
        "access of patched drivers and Vulkan's host-visible memory, fails or crawls: 13.9 against 36.9 tok/s.",
        confirm="nvidia-smi -q -d MEMORY (BAR1) on both; switch Resizable BAR on in the BIOS, and repeat",
        sources=(
            "https://github.com/ggml-org/llama.cpp/issues/27097",
            "https://github.com/tinygrad/open-gpu-kernel-modules/issues/13",
        ),
    ),
)
