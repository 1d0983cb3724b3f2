"""Errors that the driver wrote to the kernel's log: Xids by their number, GPUs that went, transfers that failed."""

from fingerprint.explain.mechanisms.gpu_clocks import SM_LOWER
from fingerprint.explain.mechanisms.graph import Rule

XID = "https://docs.nvidia.com/deploy/xid-errors/index.html"
OPEN = "https://github.com/NVIDIA/open-gpu-kernel-modules"

RULES: tuple[Rule, ...] = (
    Rule(
        name="xid",
        sees=("driver/log/*/xid", "driver/log/*/xid/*", "driver/kernel_log/xids"),
        moves=("availability", "sm clock"),
        way="less helps",
        shows=(SM_LOWER,),
        breaks="often",
        usual=(1.5, 2.5),
        beside=("driver/log/*/last_xid", "gpu/*/health/recovery_action"),
        why="Each is work that was cut off or repeated, of a program or of the hardware, and what follows it may be "
        "slow: after an Xid 31 later processes multiplied matrices at 20.9 instead of 49.8 TFLOPS until a reload.",
        confirm="dmesg for `NVRM: Xid`; reload the driver or reset the GPU, and repeat",
        sources=(XID,),
    ),
    Rule(
        name="xid-memory",
        sees=(
            "driver/log/*/xid/48",
            "driver/log/*/xid/63",
            "driver/log/*/xid/64",
            "driver/log/*/xid/92",
            "driver/log/*/xid/94",
            "driver/log/*/xid/95",
        ),
        moves=("gpu memory", "gpu memory bandwidth", "availability"),
        way="less helps",
        breaks="often",
        beside=("gpu/*/health/remapped_rows/pending", "gpu/*/health/recovery_action"),
        told_by=("cuda-ecc-error",),
        why="The GPU's memory had errors, rows were replaced or could not be: programs that met them were ended.",
        confirm="nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU, or leave it out, and repeat",
        confirmed=1,
        sources=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html", XID),
    ),
    Rule(
        name="xid-gsp",
        sees=("driver/log/*/xid/119", "driver/log/*/xid/120"),
        moves=("launch latency", "gpu initialisation", "availability"),
        way="less helps",
        breaks="often",
        beside=("gpu/*/gsp/mode_current", "driver/module/version"),
        why="The firmware processor did not answer: each call of the driver waits 45 s for it, and in the end the GPU "
        "is lost to everybody on the host.",
        confirm="dmesg for the time between the lines; reset the GPU, or a driver without the fault",
        confirmed=2,
        sources=(f"{OPEN}/issues/446", XID),
    ),
    Rule(
        name="gpu-lost",
        sees=("driver/log/*/xid/79", "driver/log/*/fallen_off_bus"),
        moves=("availability",),
        way="less helps",
        breaks="often",
        beside=("gpu/*/pcie/link_gen_current", "gpu/*/inferred/clock_lock"),
        told_by=("gpu-lost",),
        why="The GPU no longer answers on the bus: its supply, heat, the riser or the link's signal. On one laptop a "
        "lock of the memory clock ended it, on another link a lower generation did.",
        confirm="dmesg for Xid 79; reseat the board, another supply cable, a lower PCIe generation",
        sources=(f"{OPEN}/issues/974", f"{OPEN}/issues/1151", "https://github.com/NVIDIA/cudf/issues/10336"),
    ),
    Rule(
        name="gpu-init-failed",
        sees=("driver/log/*/init_failed",),
        moves=("gpu initialisation", "availability"),
        way="less helps",
        breaks="often",
        beside=("gpu/*/persistence_mode",),
        why="The driver tried to bring a GPU up and could not: each try takes seconds, for every process that asks.",
        confirm="dmesg for `RmInitAdapter failed`; nvidia-smi by itself, timed; power the host off and on",
        sources=(f"{OPEN}/issues/968",),
    ),
    Rule(
        name="peer-memory-errors",
        sees=("driver/kernel_log/peermem_errors",),
        moves=("network", "collective"),
        way="less helps",
        between=True,
        breaks="often",
        usual=(1.2, 18.0),
        why="nvidia-peermem lost track of a buffer: what NICs would write to the GPU directly goes through the host.",
        confirm="dmesg for nvidia-peermem; NCCL_DEBUG=INFO for `GDRDMA`; reload the module and repeat",
        sources=("https://github.com/NVIDIA/nccl/issues/1343",),
    ),
)
