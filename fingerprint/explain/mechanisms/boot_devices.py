"""Parameters of the boot line for devices: translation, buses, interrupts, and which driver takes a GPU."""

from fingerprint.explain.mechanisms.boot_line import booted
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.mechanisms.kernel_code import PARAMETERS

NAMING = (
    "https://docs.redhat.com/en/documentation/red_hat_enterprise_linux/7/html/networking_guide/"
    "sec-consistent_network_device_naming_using_biosdevname"
)

RULES: tuple[Rule, ...] = (
    Rule(
        name="boot-iommu",
        sees=booted("*iommu iommu.* arm_smmu*"),
        moves=("collective", "pcie link", "gpu memory bandwidth", "availability"),
        best=("off", "pt"),
        mostly=True,
        between=True,
        over_pcie="between GPUs",
        breaks="often",
        usual=(1.02, 2.6),
        beside=("gpu/*/peers/*/p2p_read", "gpu/*/pcie/numa_node", "process/*/env/NCCL_P2P_DISABLE", "pcie/iommu/mode"),
        why="An IOMMU that translates sends what one GPU writes to another up to the root and through page tables: "
        "half of the bandwidth (8 against 21 GB/s), or a first all-reduce that never ends. A GPU that shares the "
        "host's memory reads all of it so: with amd_iommu=off Strix Halo was 2 to 12 % faster (692 against 658 tok/s "
        "of a prompt), with iommu=pt it was not. amd_iommu=pt is no value and is ignored; off takes away the NPU.",
        confirm="nvidia-smi topo -p2p r, then nccl-tests all_reduce_perf; boot with iommu=pt or amd_iommu=off",
        confirmed=3,
        sources=(
            PARAMETERS,
            "https://github.com/vllm-project/vllm/issues/33041",
            "https://github.com/vllm-project/vllm/issues/51513",
            "https://github.com/NVIDIA/nccl-tests/issues/115",
            "https://github.com/kyuz0/amd-strix-halo-toolboxes/issues/66",
        ),
    ),
    Rule(
        name="boot-iommu-flush",
        sees=booted("iommu.strict iommu.forcedac"),
        moves=("cpu time", "network", "storage", "pcie link"),
        best=("0", "n"),
        phases=("transfer", "start-up", "host latency", "any work"),
        beside=("kernel/cmdline/iommu",),
        why="Strict: whoever gives a mapping back waits until the IOMMU has forgotten it, at each packet and each read "
        "of a disk. Lazy: they are forgotten in batches. With translation off or passed through it is of no account.",
        confirm="perf top while loading: time in iommu_flush and its lock; boot with iommu.strict=0",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-bounce-buffers",
        sees=booted("swiotlb"),
        moves=("pcie link", "host memory bandwidth", "host memory", "availability"),
        over_pcie="all",
        breaks="seldom",
        beside=("kernel/cmdline/mem_encrypt", "gpu/*/pcie/numa_node"),
        why="A device that cannot reach a page gets a copy of it in a pool: force makes that the rule, in encrypted "
        "guests it is, and a pool that is too small fails transfers that are too large for it.",
        confirm="dmesg | grep -i swiotlb; /sys/kernel/debug/swiotlb/io_tlb_used during a copy",
        sources=("https://docs.kernel.org/core-api/swiotlb.html", PARAMETERS),
    ),
    Rule(
        name="boot-pci",
        sees=booted("pci"),
        moves=("collective", "pcie link", "availability"),
        breaks="often",
        beside=("gpu/*/memory/bar1_total", "gpu/*/pcie/link_width_max", "pcie/bridges/*/acs_control"),
        why="Options of the bus in one word. noacs and disable_acs_redir let devices below one bridge talk directly, "
        "where a first all-reduce hung. realloc assigns windows anew: without it some boards leave a GPU without one "
        "and the driver finds no device, and MI300X wants it off. pcie_bus_perf sets the size of packets, nomsi the "
        "kind of interrupts.",
        confirm="dmesg | grep -i BAR for 'no space', and lspci -vv: regions, DevCtl and ACSCtl in both boots",
        confirmed=1,
        sources=(
            PARAMETERS,
            "https://github.com/NVIDIA/nccl/issues/2079",
            "https://github.com/xCuri0/ReBarUEFI/issues/119",
            "https://github.com/NVIDIA/NV-Kernels/pull/44",
            "https://docs.sglang.io/platforms/amd_gpu.html",
        ),
    ),
    Rule(
        name="boot-passthrough",
        sees=booted("*acs_override* vfio* pci_stub.* xen_pciback.*"),
        moves=("availability",),
        breaks="often",
        beside=("driver/gpus_bound_elsewhere", "pcie/gpus/*/driver"),
        why="A device whose number stands here is held for a guest, and the GPU driver of the host does not get it: "
        "one GPU less. pcie_acs_override only makes groups smaller and says nothing of what the bridges do.",
        confirm="lspci -nnk (kernel driver in use) in both boots; bind the device to its driver and repeat",
        sources=("https://docs.kernel.org/driver-api/vfio.html", PARAMETERS),
    ),
    Rule(
        name="boot-link-sleep",
        sees=booted("pcie_aspm pcie_aspm.* pcie_port_pm"),
        moves=("pcie link", "availability"),
        over_pcie="all",
        breaks="seldom",
        beside=("kernel/modules/pcie_aspm/parameters/policy",),
        why="Whether links may sleep: microseconds to wake, felt by small copies and by disks, and devices that do not "
        "come back. pcie_aspm=off leaves in force what the firmware had set; pcie_aspm.policy=performance wakes them.",
        confirm="lspci -vv: LnkCtl ASPM of the GPU and each bridge above; echo performance > "
        "/sys/module/pcie_aspm/parameters/policy",
        sources=(PARAMETERS, "https://docs.kernel.org/power/pci.html"),
    ),
    Rule(
        name="boot-pcie-errors",
        sees=booted("pcie_ports pciehp* pcie_pme pcie_hp*"),
        moves=("availability",),
        breaks="seldom",
        beside=("driver/kernel_log/aer_errors",),
        why="Who handles errors and hot-plug of the bus, kernel or firmware: the kernel's way resets a port that fails "
        "and reports it, the firmware's may take the device out, or say nothing of links that repeat everything.",
        confirm="dmesg | grep -E 'AER|DPC|pciehp' in both boots; without any of these it is not the cause",
        sources=("https://docs.kernel.org/PCI/pcieaer-howto.html", PARAMETERS),
    ),
    Rule(
        name="boot-pcie",
        sees=booted("pcie_* pci_*"),
        moves=("pcie link", "availability"),
        breaks="seldom",
        usual=(1.02, 2.0),
        beside=("gpu/*/pcie/link_gen_max", "gpu/*/pcie/link_width_max"),
        why="What else is said of the bus to the kernel: bandwidth of copies, microseconds to wake, devices that do "
        "not come back.",
        confirm="lspci -vv: LnkSta, DevCtl and ASPM of the GPU and of each bridge above it in both boots",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-interrupts",
        sees=booted("intremap irqpoll irqfixup noirqdebug apic* noapic nox2apic x2apic_phys pirq"),
        moves=("wake latency", "cpu time", "availability"),
        breaks="seldom",
        beside=("cpu/online",),
        why="How interrupts reach a core. Without remapping no more than 255 CPUs are served; without the I/O APIC, or "
        "with polling, devices share one line and one core, and each completion waits for the others' handlers.",
        confirm="cat /proc/interrupts in both boots: kind, and on which CPUs those of the GPU and the NIC count up",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="boot-drivers-kept-out",
        sees=booted("modprobe.blacklist module_blacklist rd.driver.* nouveau* nomodeset initcall_blacklist"),
        moves=("availability", "gpu initialisation"),
        breaks="often",
        beside=("driver/gpus_bound_elsewhere", "driver/module/flavour", "driver/next_load/blacklist"),
        told_by=("cuda-no-device",),
        why="Which drivers may not load. Where nouveau may, it takes the GPU at boot and nvidia finds none; where "
        "nvidia or amdgpu may not by mistake, or with nomodeset, work goes to the CPU. Once the right driver has it, "
        "the list costs nothing.",
        confirm="lspci -nnk -d ::0300 and ::0302 tell who drives each GPU in both boots",
        sources=(PARAMETERS, "https://download.nvidia.com/XFree86/Linux-x86_64/570.133.07/README/index.html"),
    ),
    Rule(
        name="boot-gpu-modules",
        sees=booted("nvidia* drm* i915* amdgpu* xe* radeon* amdkfd* ttm* amdttm*"),
        moves=("gpu initialisation", "availability", "launch latency", "pcie link"),
        breaks="often",
        beside=("driver/gpus_bound_elsewhere", "driver/module/flavour"),
        why="Options of graphics drivers that no other rule knows: firmware of the GPU's own processor, interrupts, "
        "memory that is kept over suspend.",
        confirm="/proc/driver/nvidia/params or /sys/module/NAME/parameters in both boots",
        sources=(PARAMETERS, "https://download.nvidia.com/XFree86/Linux-x86_64/570.133.07/README/index.html"),
    ),
    Rule(
        name="boot-interface-names",
        sees=booted("net.ifnames biosdevname ifname"),
        moves=("availability", "network", "collective"),
        between=True,
        breaks="often",
        beside=("process/*/env/NCCL_SOCKET_IFNAME", "process/*/env/GLOO_SOCKET_IFNAME"),
        why="With it interfaces are called eth0 or enp1s0f0, and what names them by hand finds none, or another: "
        "ranks do not meet, or go by the slow one. Of one host alone it moves nothing.",
        confirm="ip -br link in both boots against NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO names the one in use",
        sources=(
            NAMING,
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        ),
    ),
    Rule(
        name="boot-address-family",
        sees=booted("ipv6.*"),
        moves=("availability", "network"),
        phases=("start-up", "host latency", "any work"),
        breaks="seldom",
        why="Without IPv6 a server that listens on :: does not start, and with it a client may try an address first "
        "that leads nowhere and wait until it takes the other.",
        confirm="ss -ltn for the server's address; curl -4 and -6 in both boots",
        sources=("https://docs.kernel.org/networking/ipv6.html",),
    ),
    Rule(
        name="boot-guests",
        sees=booted("kvm* vhost* xen* hv_*"),
        moves=("cpu time", "wake latency", "host memory"),
        beside=("cpu/processor/hypervisor",),
        why="How the host runs guests, or a guest talks to its host: pages that may be huge, exits at interrupts, "
        "polling. Where no guest runs it moves nothing.",
        confirm="processes of qemu during the run; perf kvm stat live on the host",
        sources=("https://docs.kernel.org/virt/kvm/index.html", PARAMETERS),
    ),
)
