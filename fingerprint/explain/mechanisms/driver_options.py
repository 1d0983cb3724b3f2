"""What NVIDIA's driver was told when it was loaded: the options of module nvidia."""

from fingerprint.explain.mechanisms.gpu_unit import OTHER_GPUS
from fingerprint.explain.mechanisms.graph import Phase, Rule

OPEN = "https://github.com/NVIDIA/open-gpu-kernel-modules"
KEYS = f"{OPEN}/blob/main/kernel-open/nvidia/nv-reg.h"
OPTION = "driver/module/parameters"
NOT_ACCEPTANCE: tuple[Phase, ...] = (
    "prefill",
    "decode step",
    "verify step",
    "start-up",
    "transfer",
    "host latency",
    "any work",
)


def options(names: str) -> tuple[str, ...]:
    """Globs of the options in force, by their names without NVreg_, with blanks between them."""
    return tuple(f"{OPTION}/{name}" for name in names.split())


def next_load(names: str) -> tuple[str, ...]:
    """Globs of what the next load is told, by MODULE.NAME."""
    return tuple(f"driver/next_load/options/{name}" for name in names.split())


RULES: tuple[Rule, ...] = (
    Rule(
        name="driver-options",
        sees=(OPTION, f"{OPTION}/*"),
        moves=("code",),
        phases=NOT_ACCEPTANCE,
        breaks="seldom",
        beside=("driver/module/version",),
        why="Each option changes what the module does; what most of them cost is not on record. Those with a "
        "mechanism of their own have a rule of their own.",
        confirm="diff /proc/driver/nvidia/params of both; set the one option back in /etc/modprobe.d, reload, repeat",
        sources=(OPEN,),
    ),
    Rule(
        name="driver-link-options",
        sees=options("EnablePCIeGen3"),
        moves=("pcie link",),
        way="more helps",
        over_pcie="all",
        breaks="seldom",
        beside=("gpu/*/pcie/link_gen_max",),
        why="Kepler GPUs on some boards of their time stay at the second generation unless told otherwise: half of the "
        "bandwidth. Later ones take no notice.",
        confirm="nvidia-smi -q -d PCIE under load; set the option back in /etc/modprobe.d, reload, compare a copy",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-nvlink-off",
        sees=options("NvLinkDisable"),
        moves=("nvlink", "collective"),
        way="less helps",
        between=True,
        breaks="seldom",
        beside=("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read"),
        told_by=("cuda-system-not-ready",),
        why="With 1 no link is trained at all and what GPUs say to each other goes over PCIe: a fraction of the "
        "bandwidth. It is set to get a node with a broken switch to start, or to put an NVSwitch machine's GPU into a "
        "guest.",
        confirm="nvidia-smi nvlink -s; take the option out, reboot (a reload is not enough), nccl-tests "
        "all_reduce_perf",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-relaxed-ordering",
        sees=options("EnablePCIERelaxedOrderingMode"),
        moves=("pcie link", "network"),
        way="more helps",
        over_pcie="all",
        beside=("pcie/gpus/*/relaxed_ordering",),
        why="Every write of a GPU may overtake others on the bus: of account on roots and switches that would hold "
        "them up behind each other, AMD's of some generations above all, and nowhere else.",
        confirm="set the option back in /etc/modprobe.d, reload, compare copies to the host and ib_write_bw --use_cuda",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-resizable-bar",
        sees=options("EnableResizableBar"),
        moves=("pcie link", "collective"),
        way="more helps",
        breaks="seldom",
        beside=("gpu/*/memory/bar1_total",),
        why="Whether the driver asks for a window as large as the memory: through one of 256 MiB, peers and NICs reach "
        "a part at a time, or not at all. A GPU whose firmware set the window is as it was.",
        confirm="nvidia-smi -q -d MEMORY (BAR1 Total) with either value; nvidia-smi topo -p2p r",
        sources=(KEYS, "https://github.com/xCuri0/ReBarUEFI/issues/119"),
    ),
    Rule(
        name="driver-peer-mapping",
        sees=options("DmaRemapPeerMmio GrdmaPciTopoCheckOverride"),
        moves=("network", "collective", "pcie link"),
        over_rdma=True,
        breaks="seldom",
        beside=("pcie/iommu/mode",),
        told_by=("register-gpu-memory-failed", "nccl-no-direct-rdma"),
        why="How a NIC gets the address of GPU memory where an IOMMU translates, and whether a way through the root "
        "that the driver does not trust is taken all the same: refused, transfers go through the host's memory.",
        confirm="NCCL_DEBUG=INFO: GDRDMA behind the network or not; ib_write_bw --use_cuda with either value",
        sources=(KEYS, "https://docs.nvidia.com/cuda/gpudirect-rdma/"),
    ),
    Rule(
        name="driver-stream-memory-operations",
        sees=options("EnableStreamMemOPs"),
        moves=("launch latency", "network"),
        way="more helps",
        phases=("transfer", "decode step", "verify step", "any work"),
        over_rdma=True,
        breaks="seldom",
        why="A stream may wait for and write a word of memory by itself, which GPUDirect Async and NVSHMEM build on; "
        "without it the CPU stands between. Later drivers allow it anyway; what does not use it feels nothing.",
        confirm="cuDeviceGetAttribute of stream memory operations in both runs; NVSHMEM's log names its transport",
        sources=(KEYS, "https://github.com/gpudirect/libgdsync"),
    ),
    Rule(
        name="driver-interrupts",
        sees=options("EnableMSI"),
        moves=("wake latency", "cpu time"),
        way="more helps",
        breaks="seldom",
        why="Without messages the GPU shares a wired interrupt with other devices: each completion asks all of their "
        "handlers, and a storm on the line takes a core.",
        confirm="grep nvidia /proc/interrupts: PCI-MSI, or IO-APIC and who else is on the line",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-memory-clearing",
        sees=options("InitializeSystemMemoryAllocations"),
        moves=("host memory bandwidth", "cpu time"),
        way="less helps",
        phases=("start-up", "transfer", "any work"),
        why="Host memory that the driver hands out is cleared first: seconds for hundreds of GB of pinned buffers at "
        "the start, nothing once they are held.",
        confirm="time cudaMallocHost of the size in question with either value",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-write-combining",
        sees=options("UsePageAttributeTable"),
        moves=("pcie link", "launch latency"),
        phases=("transfer", "start-up", "decode step", "verify step", "any work"),
        why="Without it what the CPU writes to a GPU goes word by word instead of in lines. Copies by the GPU's own "
        "engines are as they were, and by default the driver chooses what the processor can do.",
        confirm="gdrcopy_copybw, or perf top for time in memcpy to the device, with either value",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-coherent-memory",
        sees=options("CoherentGPUMemoryMode EnableUserNUMAManagement"),
        moves=("page placement", "gpu memory", "host memory"),
        breaks="seldom",
        beside=("numa/has_memory", "numa/nodes/*/size", "gpu/*/addressing_mode"),
        why="On Grace and POWER: whether the GPU's memory is a node that the kernel gives away to anybody (pages of "
        "the page cache among them), or the driver's alone, for CUDA to find it full or free.",
        confirm="numactl -H and nvidia-smi --query-gpu=memory.used of the idle GPU in both states",
        sources=(
            KEYS,
            "https://developer.nvidia.com/blog/understanding-memory-management-on-hardware-coherent-platforms",
        ),
    ),
    Rule(
        name="driver-memory-options",
        sees=options("MemoryPoolSize KMallocHeapMaxSize VMallocHeapMaxSize IgnoreMMIOCheck TCEBypassMode"),
        moves=("host memory", "availability"),
        phases=("start-up", "transfer", "host latency", "any work"),
        breaks="seldom",
        why="Pools of the driver on VMware's hypervisor, and mappings on POWER: too small they end what needs large "
        "buffers. On any other host they mean nothing.",
        confirm="uname -m and the hypervisor; set the one option back in /etc/modprobe.d and reload",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-suspend-options",
        sees=options(
            "PreserveVideoMemoryAllocations EnableS0ixPowerManagement S0ixPowerManagementVideoMemoryThreshold"
            " UseKernelSuspendNotifiers"
        ),
        moves=("availability", "gpu initialisation"),
        shows=(OTHER_GPUS,),
        breaks="seldom",
        beside=("gpu/*/runtime_status", "kernel/suspends"),
        told_by=("cuda-unknown-error",),
        why="Memory that is not preserved over a suspend leaves CUDA unusable, and work on the CPU, until the module "
        "is loaded again. On a host that was not suspended it moves nothing.",
        confirm="suspend and resume once, then nvidia-smi and a CUDA program; set the option back and repeat",
        confirmed=1,
        sources=("https://github.com/ollama/ollama/issues/5464",),
    ),
    Rule(
        name="driver-runtime-sleep",
        sees=options("DynamicPowerManagement*"),
        moves=("gpu initialisation", "launch latency", "availability"),
        phases=("start-up", "host latency", "completion", "any work"),
        breaks="seldom",
        beside=("gpu/*/runtime_status", "gpu/*/persistence_mode"),
        why="A GPU of a notebook that was idle for some time is powered down and takes a second or more to wake for "
        "the next program; one that is at work, or has persistence mode, does not sleep.",
        confirm="cat /sys/bus/pci/devices/GPU/power/runtime_status before the run; echo on > .../power/control",
        sources=(
            KEYS,
            "https://download.nvidia.com/XFree86/Linux-x86_64/465.19.01/README/dynamicpowermanagement.html",
        ),
    ),
    Rule(
        name="driver-unsupported-gpus",
        sees=options("OpenRmEnableUnsupportedGpus"),
        moves=("availability",),
        breaks="often",
        beside=("driver/module/flavour",),
        told_by=("cuda-no-device",),
        why="Early open modules took only GPUs of data centres unless this was set: the others were not there. Drivers "
        "since ask no longer.",
        confirm="dmesg | grep NVRM for 'Open nvidia.ko is only ready'; nvidia-smi -L",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-imex-channels",
        sees=options("CreateImexChannel0 ImexChannelCount"),
        moves=("nvlink", "collective", "availability"),
        way="more helps",
        between=True,
        breaks="often",
        beside=("gpu/*/fabric/cluster_uuid", "driver/daemons/nvidia-imex/running"),
        why="A process that maps memory of another host over NVLink needs a channel of its own user: without the file "
        "in /dev it is refused, and ranks go over the network or stop. In one host no channel is needed.",
        confirm="ls /dev/nvidia-caps-imex-channels inside the container; NCCL_DEBUG=INFO for MNNVL",
        sources=("https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html",),
    ),
    Rule(
        name="driver-file-options",
        sees=options(
            "ModifyDeviceFiles DeviceFile* RmLogonRC ResmanDebugLevel RmMsg TemporaryFilePath EnableGpuFirmwareLogs"
            " EnableDbgBreakpoint RegisterForACPIEvents RegisterPCIDriver RegisterPlatformDeviceDriver"
            " RmProfilingAdminOnly RestrictProfilingToAdminUsers"
        )
        + next_load(
            "nvidia_drm.* nvidia_modeset.* nvidia.NVreg_ModifyDeviceFiles nvidia.NVreg_DeviceFile*"
            " nvidia.NVreg_RestrictProfilingToAdminUsers nvidia.NVreg_TemporaryFilePath nvidia.NVreg_ResmanDebugLevel"
            " nvidia.NVreg_EnableGpuFirmwareLogs nvidia.NVreg_RegisterForACPIEvents"
        ),
        moves=("availability", "code"),
        phases=NOT_ACCEPTANCE,
        unused=True,
        why="Whose the files in /dev are, what is logged or shown on a screen, who may profile: takes no part in a "
        "step. A user who may not "
        "open the files has no GPU at all, which is no question of speed.",
        confirm="ls -l /dev/nvidia* in both; a profiler is the only one to notice the rest",
        sources=(KEYS,),
    ),
    Rule(
        name="driver-registry",
        sees=options("RegistryDwords*"),
        moves=("sm clock", "memory clock", "collective", "code"),
        phases=NOT_ACCEPTANCE,
        breaks="seldom",
        why="Keys that steer what no option does. PowerMizerEnable and PerfLevelSrc held a performance level, and are "
        "on record as ignored since 530; ForceP2P and RMForceP2PType allow peers where the driver would not; "
        "PeerMappingOverride lets others than root map a NIC for IBGDA. "
        "They hold for one driver and are silently without effect in the next.",
        confirm="load the driver without NVreg_RegistryDwords, and repeat",
        sources=(
            OPEN,
            "https://github.com/ventureoo/nvidia-tweaks/issues/7",
            f"{OPEN}/discussions/1053",
        ),
    ),
    Rule(
        name="driver-next-pageable-memory",
        sees=next_load("nvidia_uvm.uvm_disable_hmm nvidia_uvm.uvm_ats_mode nvidia_uvm.uvm_global_oversubscription"),
        moves=("availability", "page placement", "gpu memory"),
        breaks="often",
        beside=("gpu/*/addressing_mode", "driver/next_load/pending"),
        told_by=("cuda-unknown-error", "cuda-init-failed"),
        why="What a file says of unified memory, in force since the last load if it is as old: HMM that makes CUDA "
        "fail on some kernels, and whether managed memory may be more than there is.",
        confirm="grep . /sys/module/nvidia_uvm/parameters/* for what is in force; reload nvidia_uvm and repeat",
        sources=(f"{OPEN}/issues/901", f"{OPEN}/issues/1358"),
    ),
    Rule(
        name="driver-next-load",
        sees=("driver/next_load/options", "driver/next_load/options/*"),
        moves=("page placement", "gpu memory", "code"),
        phases=NOT_ACCEPTANCE,
        breaks="seldom",
        beside=("driver/next_load/pending", OPTION),
        why="Options in files hold from the next load on. Of nvidia_uvm, nvidia_modeset and others they are the only "
        "sign of what is in force: of the module nvidia itself the options in force are read.",
        confirm="grep . /sys/module/nvidia*/parameters/* on both; reload with the options of the other",
        sources=(OPEN,),
    ),
)
