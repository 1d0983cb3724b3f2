"""Kernel modules: the drivers that are loaded, the code they are of, and what they were told."""

from fingerprint.explain.mechanisms.graph import Condition, Resource, Rule

PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
IN_KERNEL = (Condition(facts="usage/main/system", sign="grew", says="the run spent more time in the kernel", least=20),)
SLOWER = (
    Condition(facts="gpu/*/clocks/sm", sign="lower", says="GPUs at work ran at a lower clock"),
    Condition(facts="cpu/frequency/median", sign="lower", says="the CPUs ran at a lower clock"),
)
PEER_ERRORS = (
    Condition(facts="driver/kernel_log/peermem_errors", sign="grew", says="the module lost track of a buffer"),
)
PCIE_ERRORS = (
    Condition(facts="driver/kernel_log/aer_errors", sign="grew", says="devices reported errors of PCI Express"),
)
MISMATCHED = (
    Condition(
        facts="driver/kernel_log/api_mismatches",
        sign="grew",
        says="programs with a library of another version than the module were turned away",
    ),
)

_NVIDIA = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")
_OTHERS = ("nouveau", "amdgpu", "amdkfd", "i915", "xe")
_OF_A_GPU: tuple[Resource, ...] = (
    "availability", "gpu initialisation", "launch latency", "sm clock", "gpu memory", "pcie link", "collective",
)  # fmt: skip

RULES = (
    Rule(
        name="peer-memory-module",
        sees=(
            "kernel/modules/nvidia_peermem/**",
            "kernel/modules/nv_peer_mem/**",
            "kernel/modules/gdrdrv/**",
        ),
        moves=("network", "collective"),
        best=("present",),
        phases=("decode step", "verify step", "prefill", "transfer", "any work"),
        shows=PEER_ERRORS,
        over_rdma=True,
        breaks="often",
        usual=(1.2, 18.0),
        beside=("process/*/env/NCCL_NET_GDR_LEVEL", "process/*/env/NCCL_DMABUF_ENABLE", "driver/module/flavour"),
        told_by=(
            "register-gpu-memory-failed",
            "mooncake-register-failed",
            "nccl-no-direct-rdma",
        ),
        why="Without a peer memory module (or dma-buf) the network card cannot reach GPU memory, and transfers between "
        "hosts go through the host's, silently: 180 against 10 GB/s. The module on one of two nodes is not enough, and "
        "modprobe does not outlast a boot. gdrdrv does the same for small copies by the CPU.",
        confirm="`modprobe nvidia_peermem` on every node; NCCL_DEBUG=INFO then says GDRDMA behind the network.",
        confirmed=2,
        sources=(
            "https://github.com/NVIDIA/nccl/issues/1343",
            "https://github.com/NVIDIA/nccl-tests/issues/152",
            "https://docs.nvidia.com/cuda/gpudirect-rdma/",
        ),
    ),
    Rule(
        name="gpu-direct-storage-module",
        sees=("kernel/modules/nvidia_fs/**",),
        moves=("storage", "pcie link"),
        phases=("start-up", "transfer", "any work"),
        usual=(1.1, 3.0),
        why="With nvidia_fs files are read straight into GPU memory; without it cuFile goes on in its compatible mode, "
        "through a buffer in host memory, and says so only in its log.",
        confirm="`gdscheck -p`, and `cat /proc/driver/nvidia-fs/stats` before and after the run.",
        sources=("https://docs.nvidia.com/gpudirect-storage/",),
    ),
    Rule(
        name="gpu-module",
        sees=tuple(f"kernel/modules/{name}{part}" for name in _NVIDIA for part in ("", "/version", "/srcversion")),
        moves=_OF_A_GPU,
        shows=MISMATCHED,
        breaks="often",
        usual=(1.05, 7.0),
        beside=("driver/module/version", "kernel/release"),
        told_by=("cuda-init-failed",),
        why="The GPU's driver: another build under the same version string has opened peer access between GPUs, 125 "
        "against 114 tok/s.",
        confirm="`modinfo -F srcversion nvidia` against /sys/module/nvidia/srcversion; load the other run's module.",
        confirmed=3,
        drifted=28,
        sources=("https://github.com/noonghunna/club-3090/issues/91",),
    ),
    Rule(
        name="gpu-module-options",
        sees=(
            "kernel/modules/nvidia/**",
            *(f"kernel/modules/{name}/parameters{part}" for name in (*_NVIDIA[1:], *_OTHERS) for part in ("", "/*")),
        ),
        moves=_OF_A_GPU,
        shows=MISMATCHED,
        breaks="seldom",
        usual=(1.02, 1.5),
        beside=("driver/module/version",),
        told_by=("cuda-unknown-error", "cuda-init-failed"),
        why="What the GPU's driver was loaded with and no other rule knows: firmware, idling, debugging.",
        confirm="Load the module with the other run's parameters: /sys/module/NAME/parameters, modprobe.d",
        sources=("https://download.nvidia.com/XFree86/Linux-x86_64/570.133.07/README/index.html",),
    ),
    Rule(
        name="other-gpu-module",
        sees=tuple(f"kernel/modules/{name}{part}" for name in _OTHERS for part in ("", "/version", "/srcversion")),
        moves=_OF_A_GPU,
        breaks="often",
        usual=(1.05, 7.0),
        beside=("kernel/release",),
        why="The driver of a GPU of another maker, or of the display: one from another package took 80 tok/s to 12.",
        confirm="`modinfo -F srcversion NAME` against /sys/module/NAME/srcversion; load the other run's module",
        confirmed=1,
        sources=("https://github.com/ROCm/legacy-rocm-build/issues/4868",),
    ),
    Rule(
        name="network-module",
        sees=(
            "kernel/modules/mlx*/**",
            "kernel/modules/ib_*/**",
            "kernel/modules/rdma_*/**",
            "kernel/modules/iw_cm/**",
            "kernel/modules/efa/**",
            "kernel/modules/ena/**",
            "kernel/modules/bnxt_*/**",
            "kernel/modules/irdma/**",
            "kernel/modules/ice/**",
            "kernel/modules/i40e/**",
            "kernel/modules/ixgbe/**",
            "kernel/modules/gve/**",
            "kernel/modules/virtio_net/**",
            "kernel/modules/bonding/**",
            "kernel/modules/xpmem/**",
            "kernel/modules/knem/**",
        ),
        moves=("network", "collective"),
        breaks="seldom",
        usual=(1.05, 18.0),
        why="Drivers of network cards and of RDMA: where one is missing or of another release, NCCL finds no device "
        "and falls back to TCP without an error (50 against 370 ms for 1 GB), or loses a feature such as relaxed "
        "ordering.",
        confirm="`ibv_devinfo` or `ethtool -i DEVICE`, and the transport that NCCL_DEBUG=INFO names.",
        sources=(
            "https://github.com/areal-project/AReaL/issues/639",
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        ),
    ),
    Rule(
        name="packet-filter-module",
        sees=(
            "kernel/modules/nf_*/**",
            "kernel/modules/nft_*/**",
            "kernel/modules/ip_tables/**",
            "kernel/modules/ip6_tables/**",
            "kernel/modules/iptable_*/**",
            "kernel/modules/xt_*/**",
            "kernel/modules/br_netfilter/**",
            "kernel/modules/ip_vs*/**",
            "kernel/modules/act_*/**",
            "kernel/modules/cls_*/**",
            "kernel/modules/sch_*/**",
        ),
        moves=("network", "cpu time"),
        phases=("transfer", "host latency", "start-up", "any work"),
        usual=(1.0, 1.2),
        why="Filters, connection tracking and queueing disciplines are passed by each packet of TCP, also on one host "
        "between a load balancer, a proxy and a server: up to microseconds a packet. RDMA passes none of them.",
        confirm="`nft list ruleset | wc -l` and `tc qdisc` in both runs; measure over the loopback without them.",
        sources=("https://docs.kernel.org/networking/nf_conntrack-sysctl.html",),
    ),
    Rule(
        name="platform-power-module",
        sees=(
            "kernel/modules/platform_profile/**",
            "kernel/modules/hp_wmi/**",
            "kernel/modules/asus_wmi/**",
            "kernel/modules/asus_nb_wmi/**",
            "kernel/modules/ideapad_laptop/**",
            "kernel/modules/thinkpad_acpi/**",
            "kernel/modules/dell_*/**",
            "kernel/modules/msi_wmi*/**",
            "kernel/modules/amd_pmf/**",
        ),
        moves=("sm clock", "cpu clock"),
        shows=SLOWER,
        usual=(1.1, 2.0),
        beside=("cpu/platform_profile", "gpu/*/enforced_power_limit"),
        why="The platform's own drivers set power profiles that bind CPU and GPU together, past the limits that NVML "
        "shows: 175 against 80 W after a change of one on a laptop.",
        confirm="`cat /sys/firmware/acpi/platform_profile`, set it to performance, and watch the GPU's draw under "
        "load.",
        sources=("https://docs.kernel.org/userspace-api/sysfs-platform_profile.html",),
    ),
    Rule(
        name="cpu-clock-module",
        sees=(
            "kernel/modules/acpi_cpufreq/**",
            "kernel/modules/amd_pstate/**",
            "kernel/modules/cpufreq/**",
            "kernel/modules/cppc_cpufreq/**",
            "kernel/modules/pcc_cpufreq/**",
            "kernel/modules/intel_uncore_frequency/**",
            "kernel/modules/intel_rapl_*/**",
        ),
        moves=("cpu clock", "host memory bandwidth"),
        shows=SLOWER[1:],
        usual=(1.02, 1.5),
        beside=("cpu/scaling_driver", "cpu/policies/*/scaling_governor"),
        why="Which driver asks the hardware for a clock, or lets others set its limits: with another one the range, "
        "the governors and the time until the clock rises are others.",
        confirm="`cpupower frequency-info` and the clock under load in both runs.",
        sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
    ),
    Rule(
        name="idle-state-module",
        sees=(
            "kernel/modules/intel_idle/**",
            "kernel/modules/processor/**",
            "kernel/modules/cpuidle/**",
            "kernel/modules/cpuidle_haltpoll/**",
            "kernel/modules/haltpoll/**",
        ),
        moves=("wake latency", "cpu clock"),
        usual=(1.05, 8.0),
        beside=("cpu/idle/driver", "cpu/idle/states/*/disabled_on"),
        why="They say which idle states exist and for how long a core polls before it sleeps: waking from a deep one "
        "takes 150 to 230 us, which made the start of a server 4 to 8 times slower and shows in no profile. Cores that "
        "never sleep leave less power for turbo.",
        confirm="`cpupower idle-set -D 10` holds all cores out of deep states; measure, then `cpupower idle-set -E`.",
        confirmed=1,
        sources=("https://docs.kernel.org/admin-guide/pm/intel_idle.html", PARAMETERS),
    ),
    Rule(
        name="pcie-power-saving",
        sees=("kernel/modules/pcie_aspm/**",),
        moves=("pcie link",),
        phases=("transfer", "decode step", "verify step", "start-up", "any work"),
        shows=PCIE_ERRORS,
        breaks="seldom",
        usual=(1.0, 1.2),
        why="The policy lets links sleep between transfers: microseconds to wake at each, felt by small copies and "
        "launches, not by bandwidth; on some boards links fail to come back.",
        confirm="`echo performance > /sys/module/pcie_aspm/parameters/policy` and measure.",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="iommu-module",
        sees=("kernel/modules/iommu/**", "kernel/modules/vfio_iommu_type1/**", "kernel/modules/vfio_pci/**"),
        moves=("pcie link", "availability"),
        breaks="often",
        usual=(1.05, 2.6),
        beside=(
            "kernel/cmdline/iommu",
            "kernel/cmdline/intel_iommu",
            "kernel/cmdline/amd_iommu",
            "driver/gpus_bound_elsewhere",
        ),
        why="Translation of device addresses costs each mapping and can turn traffic between GPUs into a hang; a GPU "
        "that vfio_pci took belongs to a guest and is not there for the host.",
        confirm="`cat /sys/kernel/iommu_groups/*/type`; boot with iommu=pt and measure.",
        sources=(
            "https://github.com/vllm-project/vllm/issues/51513",
            "https://docs.kernel.org/driver-api/vfio.html",
        ),
    ),
    Rule(
        name="storage-module",
        sees=(
            "kernel/modules/nvme/**",
            "kernel/modules/nvme_*/**",
            "kernel/modules/virtio_blk/**",
            "kernel/modules/dm_*/**",
            "kernel/modules/raid*/**",
            "kernel/modules/md_mod/**",
            "kernel/modules/nfs*/**",
            "kernel/modules/lustre/**",
            "kernel/modules/fuse/**",
            "kernel/modules/ceph/**",
            "kernel/modules/overlay/**",
            "kernel/modules/ext4/**",
            "kernel/modules/xfs/**",
            "kernel/modules/zfs/**",
            "kernel/modules/btrfs/**",
        ),
        moves=("storage", "page cache"),
        breaks="seldom",
        usual=(1.05, 4.0),
        why="Drivers of disks and file systems: number of queues, polling, read-ahead, multipath, power states of the "
        "drive, and for ZFS and Ceph a cache of their own, of which the page cache knows nothing.",
        confirm="`fio --rw=read --bs=1M --direct=1 --filename=WEIGHTS` in both runs; a warm second start rules it out.",
        sources=("https://docs.kernel.org/block/index.html", PARAMETERS),
    ),
    Rule(
        name="virtualisation-module",
        sees=("kernel/modules/kvm/**", "kernel/modules/kvm_*/**", "kernel/modules/vhost*/**"),
        moves=("cpu time", "wake latency"),
        usual=(1.0, 1.2),
        beside=("cpu/processor/hypervisor",),
        why="The host runs guests, or can: parameters decide for how long a halted virtual CPU polls, on nested guests "
        "and on mitigations at each entry. Of account for guests, and for whom they take cores from.",
        confirm="`virsh list`, or processes of qemu during the run; guest time in /proc/stat.",
        sources=("https://docs.kernel.org/virt/kvm/halt-polling.html",),
    ),
    Rule(
        name="watching-module",
        sees=(
            "kernel/modules/falcon_*/**",
            "kernel/modules/scap/**",
            "kernel/modules/falco/**",
            "kernel/modules/sysdig_probe/**",
            "kernel/modules/sep*/**",
            "kernel/modules/socperf*/**",
            "kernel/modules/vtsspp/**",
            "kernel/modules/stap_*/**",
        ),
        moves=("system calls", "cpu time"),
        phases=("start-up", "host latency", "any work"),
        shows=IN_KERNEL,
        usual=(1.02, 1.5),
        why="Security agents, tracers and profilers hook into opens, execs and system calls: a start that opens "
        "100,000 files and forks compilers feels each of them.",
        confirm="Stop the agent or unload its module and repeat the start.",
        sources=("https://docs.kernel.org/trace/tracepoints.html",),
    ),
    Rule(
        name="page-shuffling",
        sees=("kernel/modules/page_alloc/**",),
        moves=("page placement", "host memory bandwidth"),
        phases=("host latency", "start-up", "any work"),
        usual=(1.0, 1.1),
        why="Shuffled free pages spread over a memory-side cache's sets (for which it was made), and lose the "
        "neighbourhood that rows of memory and huge pages like.",
        confirm="Boot with page_alloc.shuffle=0 (or 1) and measure.",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="congestion-module",
        sees=("kernel/modules/tcp_*/**",),
        moves=("network",),
        usual=(1.0, 1.5),
        beside=("kernel/sysctl/net/ipv4/tcp_congestion_control",),
        why="A way to react to congestion that is loaded can be chosen, by the system or by one program for its own "
        "sockets.",
        confirm="`ss -tin` shows what each connection uses.",
        sources=("https://docs.kernel.org/networking/ip-sysctl.html",),
    ),
    Rule(
        name="kernel-module",
        sees=(
            "kernel/modules",
            "kernel/modules/*",
            "kernel/modules/*/version",
            "kernel/modules/*/srcversion",
        ),
        moves=("availability", "system calls", "cpu time"),
        breaks="seldom",
        unused=True,
        why="A driver that is loaded in one run only, or of other code. Most have no part in the run: some are loaded "
        "by looking at a device, and by plugging one in. Who uses the device that it drives is who feels it.",
        confirm="`modinfo MODULE` says what it is for; unload it (`modprobe -r`), or load the other build, and repeat.",
        sources=("https://man7.org/linux/man-pages/man8/modprobe.8.html",),
    ),
    Rule(
        name="module-parameters",
        sees=("kernel/modules/*/parameters", "kernel/modules/*/parameters/*"),
        moves=("availability", "system calls", "cpu time"),
        breaks="seldom",
        unused=True,
        why="What a driver was told at load or since: queues, time-outs, power saving. Most are of no account to the "
        "run; `modinfo -p` says what each does.",
        confirm="Write the other value to /sys/module/MODULE/parameters/NAME, or load the module with it, and repeat.",
        sources=(PARAMETERS,),
    ),
)
