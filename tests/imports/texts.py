"""What tools print, in short: texts of this repository's own with figures that real machines told."""

H100 = """\
==============NVSMI LOG==============

Timestamp                                 : Fri Jun 21 02:03:08 2024
Driver Version                            : 535.183.01
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:53:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-00000000-0000-4000-8000-000000000001
    Minor Number                          : 0
    PCI
        Device Id                         : 0x233010DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
        SW Thermal Slowdown               : Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 71 MiB
    Utilization
        Gpu                               : 98 %
    ECC Mode
        Current                           : Enabled
    ECC Errors
        Aggregate
            DRAM Uncorrectable            : 1
    Remapped Rows
        Uncorrectable Error               : 1
        Pending                           : No
        Bank Remap Availability Histogram
            Max                           : 2559 bank(s)
    GPU Power Readings
        Power Draw                        : 118.01 W
        Current Power Limit               : 700.00 W
        Requested Power Limit             : 650.00 W
    Max Clocks
        SM                                : 1980 MHz
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : /usr/bin/program-1
            Used GPU Memory               : 300 MiB
        Process ID                        : 4712
            Type                          : G
            Used GPU Memory               : 4 MiB
GPU 00000000:64:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-00000000-0000-4000-8000-000000000002
    Remapped Rows                         : N/A
    GPU Power Readings
        Requested Power Limit             : 700.00 W
"""

TABLE = """\
Tue Jul 14 08:12:53 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 590.48.01              Driver Version: 590.48.01      CUDA Version: 13.1     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:53:00.0 Off |                    0 |
| N/A   59C    P0            629W /  700W |   19818MiB /  81559MiB |    100%   E. Process |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA GeForce RTX 2080 ...    Off |   00000000:64:00.0  On |                  N/A |
| 37%   40C    P8             37W /  250W |     214MiB /   8192MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
"""

CSV = """\
timestamp, name, pci.bus_id, driver_version, power.limit [W], memory.total [MiB], ecc.mode.current, fan.speed [%]
2026/07/14 08:12:53.353, NVIDIA H100 80GB HBM3, 00000000:53:00.0, 590.48.01, 700.00 W, 81559 MiB, Enabled, [N/A]
2026/07/14 08:12:53.355, NVIDIA H100 80GB HBM3, 00000000:64:00.0, 590.48.01, 650.00 W, 81559 MiB, Disabled, [N/A]
"""

LIST = """\
GPU 0: NVIDIA H200 (UUID: GPU-00000000-0000-4000-8000-000000000001)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA H200 (UUID: GPU-00000000-0000-4000-8000-000000000002)
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
"""

ERRORS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-4000-8000-000000000001)
\t Link 0: Replay Errors: 3
\t Link 0: Recovery Errors: 1
\t Link 0: CRC Errors: 40
\t Link 1: Replay Errors: 4
\t Link 1: Recovery Errors: 0
\t Link 1: CRC Errors: 2
"""

TOPO = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-31,64-95\t0\t\tN/A
GPU1\tNV18\t X \tPHB\tNODE\t0-31,64-95\t0\t\tN/A
GPU2\tSYS\tPHB\t X \tSYS\t32-63,96-127\t1\t\tN/A
NIC0\tPIX\tNODE\tSYS\t X

Legend:
  X    = Self
"""

LSCPU = """\
Architecture:                       x86_64
CPU op-mode(s):                     32-bit, 64-bit
CPU(s):                             128
On-line CPU(s) list:                0-127
Vendor ID:                          GenuineIntel
Model name:                         Intel(R) Xeon(R) Platinum 8462Y+
CPU family:                         6
Model:                              143
Thread(s) per core:                 2
Core(s) per socket:                 32
Socket(s):                          2
Stepping:                           8
Flags:                              fpu vme de avx512f
L1d cache:                          3 MiB (64 instances)
L2 cache:                           128 MiB (64 instances)
L3 cache:                           120 MiB (2 instances)
NUMA node(s):                       2
NUMA node0 CPU(s):                  0-31,64-95
NUMA node1 CPU(s):                  32-63,96-127
Vulnerability L1tf:                 Not affected
Vulnerability Spec store bypass:    Mitigation; Speculative Store Bypass disabled via prctl
"""

NUMACTL = """\
available: 3 nodes (0-2)
node 0 cpus: 0 1 2 3
node 0 size: 490029 MB
node 0 free: 463853 MB
node 1 cpus:
node 1 size: 97280 MB
node 1 free: 97279 MB
node 2 cpus:
node 2 size: 0 MB
node 2 free: 0 MB
node distances:
node   0   1   2
  0:  10  80  80
  1:  80  10  255
  2:  80  255  10
"""

PROC = """\
*** /sys/devices/system/node/has_memory
*** ls: -r--r--r-- 1 root root 4096 2019-11-16 11:37:15.036438676 +0800 /sys/devices/system/node/has_memory
0-1
____________________________________________
*** /proc/driver/nvidia/./version
*** ls: -r--r--r-- 1 root root 0 2019-11-16 13:31:02.345555872 +0800 /proc/driver/nvidia/./version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  440.31  Sun Oct 27 02:19:35 UTC 2019
GCC version:  gcc version 7.4.0
____________________________________________
*** /proc/driver/nvidia/./gpus/0000:02:00.0/information
Model: \t\t GeForce RTX 2080 Ti
IRQ:   \t\t 107
GPU UUID: \t GPU-00000000-0000-4000-8000-000000000001
Video BIOS: \t 90.02.0b.00.df
Bus Location: \t 0000:02:00.0
Device Minor: \t 0
____________________________________________
*** /proc/driver/nvidia/./gpus/0000:03:00.0/information
Model: \t\t GeForce RTX 2080 Ti
IRQ:   \t\t 108
GPU UUID: \t GPU-????????-????-????-????-????????????
Video BIOS: \t ??.??.??.??.??
Bus Location: \t 0000:03:00.0
Device Minor: \t 1
____________________________________________
*** /proc/driver/nvidia/./params
ResmanDebugLevel: 4294967295
EnableMSI: 1
RegistryDwords: ""
____________________________________________
"""

KERNEL_LOG = """\
[    0.000000] Linux version 6.8.0-40-generic (build@host) #40 SMP
[    0.000001] Command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0-40-generic root=/dev/sda2 ro iommu=pt
[   12.345678] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024
[  100.000001] pcieport 0000:52:01.0: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)
[  200.000002] NVRM: Xid (PCI:0000:53:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[  200.000003] NVRM: GPU 0000:53:00.0: GPU has fallen off the bus.
[  250.000004] WARNING: CPU: 3 PID: 4711 at kernel/workqueue.c:1 work+0x1/0x2
[  300.000004] Out of memory: Killed process 4711 (python) total-vm:1000kB
"""

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.5.1+cu124
Is debug build: False

Python version: 3.10.12 (main, Jan 17 2025, 14:35:34) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.14.0-362.8.1.el9_3.x86_64-x86_64-with-glibc2.35
GPU models and configuration:
GPU 0: NVIDIA H200
GPU 1: NVIDIA H200
GPU 2: NVIDIA H200

Nvidia driver version: 550.127.05

CPU:
""" + LSCPU + """\

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] nvidia-nccl-cu12==2.21.5
[pip3] torch==2.5.1
[conda] Could not collect
vLLM Version: 0.7.2
GPU Topology:
""" + TOPO + """\

NIC Legend:
  NIC0: mlx5_0

LD_LIBRARY_PATH=/usr/local/cuda/lib64
NCCL_CUMEM_ENABLE=0
OPENAI_API_KEY=of-nobody
CUDA_MODULE_LOADING=LAZY
"""  # fmt: skip

CHECK_ENV = """\
Python: 3.10.12 (main, Feb  4 2025, 14:57:36) [GCC 11.4.0]
CUDA available: True
GPU 0,1,2: NVIDIA A100-SXM4-40GB
GPU 0,1,2 Compute Capability: 8.0
NVCC: Cuda compilation tools, release 12.4, V12.4.131
CUDA Driver Version: 550.144.03
550.144.03
550.144.03
PyTorch: 2.5.1+cu124
sgl_kernel: 0.0.5
triton: 3.1.0
zmq: 26.3.0
anthropic: Module Not Found
NVIDIA Topology:
""" + TOPO + """\

Hypervisor vendor: KVM
ulimit soft: 32768
"""  # fmt: skip

NCCL = """\
<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x030000" vendor="0x10de" device="0x2684" subsystem_vendor="0x1043"
      subsystem_device="0x889a" link_speed="8.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="89" rank="0" gdr="0"/>
    </pci>
  </cpu>
</system>
"""

LSPCI = """\
00:00.0 Host bridge: Intel Corporation Xeon E7 v4 DMI2 (rev 01)
\tNUMA node: 0

00:03.0 PCI bridge: Intel Corporation Xeon E7 v4 PCI Express Root Port 3 (rev 01) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=04, sec-latency=0
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes
\t\tLnkCap:\tPort #7, Speed 8GT/s, Width x16, ASPM L1, Exit Latency L1 <16us
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x16 (ok)
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

01:00.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca) (prog-if 00 [Normal decode])
\tBus: primary=01, secondary=02, subordinate=04, sec-latency=0
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x8 (downgraded)

02:08.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca) (prog-if 00 [Normal decode])
\tBus: primary=02, secondary=03, subordinate=03, sec-latency=0
\t\tLnkCap:\tPort #8, Speed 8GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)

03:00.0 3D controller: NVIDIA Corporation GP104GL [Tesla P4] (rev a1)
\tSubsystem: NVIDIA Corporation GP104GL [Tesla P4]
\tNUMA node: 0
\tIOMMU group: 17
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0, Latency L0s unlimited, L1 <64us
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <1us
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)
\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s, Crosslink- Retimer- 2Retimers- DRS-
\tKernel driver in use: nvidia

05:00.0 Ethernet controller: Mellanox Technologies MT27800 Family [ConnectX-5]
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed unknown, Width x0
\tKernel driver in use: mlx5_core
"""

IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tHardware version: 0
\tNode GUID: 0x76f40fcbf57aa64a
\tSystem image GUID: 0x76f40fcbf57aa64a
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 13247
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa651ec48
\t\tLink layer: InfiniBand
CA 'mlx4_0'
\tCA type: MT4099
\tNumber of ports: 1
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 2
"""

IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:     fe80:0000:0000:0000:0000:0000:0000:0001
\tbase lid:        0x33bf
\tsm lid:          0x1
\tstate:           4: ACTIVE
\tphys state:      5: LinkUp
\trate:            200 Gb/sec (4X HDR)
\tlink_layer:      InfiniBand

"""

ALL = {
    "lspci": LSPCI,
    "ibstat": IBSTAT,
    "ibstatus": IBSTATUS,
    "nvidia-smi -q": H100,
    "nvidia-smi": TABLE,
    "nvidia-smi --query-gpu": CSV,
    "nvidia-smi -L or nvlink": LIST,
    "nvidia-smi topo -m": TOPO,
    "lscpu": LSCPU,
    "numactl -H": NUMACTL,
    "/proc/driver/nvidia/version": PROC,
    "a kernel log": KERNEL_LOG,
    "collect_env of torch or vLLM": COLLECT_ENV,
    "check_env of SGLang": CHECK_ENV,
    "a topology of NCCL": NCCL,
}
"""Format -> a text that holds one."""
