"""Figures of real boards, as their drivers report them: what host_of stages."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Product:
    """One board. Clocks in MHz, power in W, temperatures in C, memory in MiB.

    clocks, most   graphics and SM, memory, video: idle, and the greatest
    idle_state     the performance state in which it waits
    power          least, most, default, draw when idle; memory_draw: that of the memory alone, where it is told
    thresholds     shutdown, slowdown, memory, GPU (before Ada); margins: the same against T.Limit, since then
    link_gen       PCIe generation of the board, of the slot that it sits in, and when idle
    remap          banks with rows to spare; 0: it has no row remapping
    nvlink         links, NVML's number of the version, MB/s of one link
    module         of GPU and CPU together: least and most power, draw when idle
    """

    name: str
    brand: int = 14  # NVML_BRAND_NVIDIA; GeForce is 5
    architecture: int
    capability: tuple[int, int]
    cores: int
    device: int
    subsystem: int
    part: str = ""
    vbios: str
    inforom: tuple[str, str, str]
    memory: int
    reserved: int
    bar1: int
    bus: int
    clocks: tuple[int, int, int]
    most: tuple[int, int, int]
    boost: bool = True
    idle_state: int = 0
    power: tuple[int, int, int, int]
    memory_draw: int = 0
    module: tuple[int, int, int] | None = None
    thresholds: tuple[int, int, int | None, int] | None = None
    margins: tuple[int, int, int | None, int] | None = None
    temperature: int
    memory_temperature: int | None = None
    link_gen: tuple[int, int, int]
    fans: int = 0
    ecc: Literal["on", "off", "none"] = "on"
    remap: int = 0
    nvlink: tuple[int, int, int] | None = None
    fabric: bool = False
    mig: int = 0
    c2c: bool = False
    addressing: int = 0  # NVML_DEVICE_ADDRESSING_MODE_*: none, HMM, ATS


TURING, AMPERE, ADA, HOPPER, BLACKWELL = 6, 7, 8, 9, 10
GEFORCE = 5

_PRODUCTS = {
    "H100 SXM": Product(
        name="NVIDIA H100 80GB HBM3", architecture=HOPPER, capability=(9, 0), cores=16896,
        device=0x233010DE, subsystem=0x16C110DE, part="692-2G520-0200-000", vbios="96.00.A5.00.01",
        inforom=("G520.0200.00.05", "2.1", "7.16"), memory=81559, reserved=479, bar1=131072, bus=5120,
        clocks=(345, 2619, 765), most=(1980, 2619, 1545), power=(200, 700, 700, 70), memory_draw=43,
        margins=(-8, -2, 0, 0), temperature=41, memory_temperature=48, link_gen=(5, 5, 5),
        remap=2560, nvlink=(18, 6, 26562), fabric=True, mig=7,
    ),
    "H200": Product(
        name="NVIDIA H200", architecture=HOPPER, capability=(9, 0), cores=16896,
        device=0x233510DE, subsystem=0x18BE10DE, part="695-2G520-0280-001", vbios="96.00.A5.00.03",
        inforom=("G520.0280.02.02", "2.1", "7.16"), memory=143771, reserved=614, bar1=262144, bus=6144,
        clocks=(345, 3201, 765), most=(1980, 3201, 1545), power=(200, 700, 700, 77), margins=(-8, -2, 0, 0),
        temperature=32, memory_temperature=41, link_gen=(5, 5, 5), remap=3072, nvlink=(18, 6, 26562),
        fabric=True, mig=7,
    ),
    "B200": Product(
        name="NVIDIA B200", architecture=BLACKWELL, capability=(10, 0), cores=18944,
        device=0x290110DE, subsystem=0x199910DE, part="692-2G525-0220-000", vbios="97.00.82.00.13",
        inforom=("G525.0220.00.03", "2.1", "7.16"), memory=183359, reserved=917, bar1=262144, bus=8192,
        clocks=(120, 3996, 600), most=(1965, 3996, 1815), power=(200, 1000, 1000, 139), margins=(-5, -2, 0, 0),
        temperature=29, memory_temperature=27, link_gen=(6, 5, 5), remap=3968, nvlink=(18, 7, 53125),
        fabric=True, mig=7,
    ),
    "GB200": Product(
        name="NVIDIA GB200", architecture=BLACKWELL, capability=(10, 0), cores=18944,
        device=0x294110DE, subsystem=0x204610DE, part="900-2G548-A801-000", vbios="97.00.B9.00.69",
        inforom=("G548.0201.00.06", "2.1", "7.16"), memory=189471, reserved=742, bar1=262144, bus=8192,
        clocks=(120, 3996, 600), most=(2062, 3996, 1890), power=(200, 1200, 1200, 166), memory_draw=30,
        module=(500, 2500, 467), margins=(-5, -2, 0, 0), temperature=27, memory_temperature=27, link_gen=(6, 5, 5),
        remap=3968, nvlink=(18, 7, 53125), fabric=True, mig=7, c2c=True, addressing=2,
    ),
    "GB300": Product(
        name="NVIDIA GB300", architecture=BLACKWELL, capability=(10, 3), cores=20480,
        device=0x31C210DE, subsystem=0x21F110DE, part="900-2G548-0081-000", vbios="97.10.4A.00.1A",
        inforom=("G548.0301.00.03", "2.1", "7.16"), memory=284208, reserved=947, bar1=524288, bus=8192,
        clocks=(120, 3996, 600), most=(2070, 3996, 1912), power=(200, 1400, 1400, 180), memory_draw=36,
        module=(500, 2900, 488), margins=(-5, -2, 0, 0), temperature=38, memory_temperature=38, link_gen=(6, 6, 6),
        remap=5952, nvlink=(18, 7, 53125), fabric=True, mig=7, c2c=True, addressing=2,
    ),
    "A100 SXM": Product(
        name="NVIDIA A100-SXM4-40GB", architecture=AMPERE, capability=(8, 0), cores=6912,
        device=0x20B010DE, subsystem=0x134710DE, part="692-2G506-0200-002", vbios="92.00.45.00.03",
        inforom=("G506.0200.00.04", "2.0", "6.16"), memory=40960, reserved=583, bar1=65536, bus=5120,
        clocks=(210, 1215, 585), most=(1410, 1215, 1290), power=(100, 400, 400, 72), thresholds=(92, 87, 83, 83),
        temperature=33, memory_temperature=31, link_gen=(4, 4, 4), remap=640, nvlink=(12, 4, 25781), mig=7,
    ),
    "L40S": Product(
        name="NVIDIA L40S", architecture=ADA, capability=(8, 9), cores=18176,
        device=0x26B910DE, subsystem=0x185110DE, part="900-2G133-A880-000", vbios="95.02.66.00.15",
        inforom=("G133.0242.00.03", "2.1", "6.16"), memory=46068, reserved=609, bar1=65536, bus=384,
        clocks=(2040, 9001, 1725), most=(2520, 9001, 1965), power=(100, 350, 350, 66), margins=(-5, -2, None, 0),
        temperature=29, link_gen=(4, 4, 4), remap=192, addressing=1,
    ),
    "T4": Product(
        name="Tesla T4", architecture=TURING, capability=(7, 5), cores=2560,
        device=0x1EB810DE, subsystem=0x12A210DE, part="900-2G183-A800-001", vbios="90.04.96.00.02",
        inforom=("G183.0200.00.02", "1.1", "5.0"), memory=15360, reserved=448, bar1=256, bus=256,
        clocks=(1590, 5000, 1470), most=(1590, 5001, 1470), power=(60, 70, 70, 34), thresholds=(96, 93, None, 85),
        temperature=33, link_gen=(3, 3, 3), addressing=1,
    ),
    "A10G": Product(
        name="NVIDIA A10G", architecture=AMPERE, capability=(8, 6), cores=9216,
        device=0x223710DE, subsystem=0x152F10DE, part="900-2G133-A840-100", vbios="94.02.75.00.01",
        inforom=("G133.0210.00.04", "2.0", "6.16"), memory=23028, reserved=435, bar1=32768, bus=384,
        clocks=(210, 405, 555), most=(1710, 6251, 1500), idle_state=8, power=(100, 300, 300, 26),
        thresholds=(98, 95, None, 88), temperature=17, link_gen=(4, 4, 1), remap=192, addressing=1,
    ),
    "RTX 4090": Product(
        name="NVIDIA GeForce RTX 4090", brand=GEFORCE, architecture=ADA, capability=(8, 9), cores=16384,
        device=0x268410DE, subsystem=0x16F310DE, vbios="95.02.3C.00.02",
        inforom=("G002.0000.00.03", "2.0", "6.16"), memory=24564, reserved=346, bar1=256, bus=384,
        clocks=(210, 405, 1185), most=(3105, 10501, 2415), boost=False, idle_state=8, power=(150, 450, 450, 17),
        margins=(-7, -2, None, 0), temperature=31, link_gen=(4, 5, 1), fans=2, ecc="off", remap=192,
    ),
    "RTX 4080 SUPER": Product(
        name="NVIDIA GeForce RTX 4080 SUPER", brand=GEFORCE, architecture=ADA, capability=(8, 9), cores=10240,
        device=0x270210DE, subsystem=0x51101462, vbios="95.03.44.00.B2",
        inforom=("G002.0000.00.03", "2.0", ""), memory=16376, reserved=434, bar1=16384, bus=256,
        clocks=(210, 405, 1185), most=(3165, 11501, 2415), boost=False, idle_state=8, power=(150, 400, 320, 15),
        thresholds=(101, 96, None, 90), temperature=45, link_gen=(4, 5, 1), fans=2, ecc="none", addressing=1,
    ),
    "RTX PRO 6000": Product(
        name="NVIDIA RTX PRO 6000 Blackwell Server Edition", architecture=BLACKWELL, capability=(12, 0), cores=24064,
        device=0x2BB510DE, subsystem=0x204E10DE, part="900-2G153-0000-000", vbios="98.02.8D.00.05",
        inforom=("G153.0200.00.01", "2.1", "7.16"), memory=97887, reserved=638, bar1=131072, bus=512,
        clocks=(180, 405, 600), most=(2430, 12481, 2430), idle_state=8, power=(300, 600, 600, 32),
        margins=(-5, -2, None, 0), temperature=30, link_gen=(5, 5, 1), remap=512, mig=4, addressing=1,
    ),
}  # fmt: skip
PRODUCTS = MappingProxyType(_PRODUCTS)
"""By short name. What nvidia-smi printed is as it printed it, of A100 a mock's; RTX PRO 6000 and most of B200, and what
it does not print (cores, the bus, row banks of A100 and RTX PRO 6000), are from data sheets."""
