"""What is told of a PCI function. A link is told at its lower end: a GPU, a card, the upper port of a switch."""

from probes.kit.facts import Map, Section, Seen, config, counter, identity, state
from probes.pcie.tree import DEVICES, NODES

CONFIG = f"{DEVICES}/*/config"


class Aer(Section):
    """Errors that the function itself noticed, since the kernel found it."""

    correctable: Seen[int] = counter(
        "What was sent again, without a word to anybody: the kernel's log tells of one in seven",
        f"{DEVICES}/*/aer_dev_correctable TOTAL_ERR_COR",
        trouble=True,
        follows=("pcie/*/*/aer/rx_err", "pcie/*/*/aer/bad_tlp", "pcie/*/*/aer/bad_dllp"),
    )
    rx_err: Seen[int] = counter(
        "The signal was not understood: a cable, a riser, a connector, or a speed that the wiring is not made for",
        f"{DEVICES}/*/aer_dev_correctable RxErr",
        trouble=True,
    )
    bad_tlp: Seen[int] = counter(
        "Packets of data came damaged: each is sent again", f"{DEVICES}/*/aer_dev_correctable BadTLP", trouble=True
    )
    bad_dllp: Seen[int] = counter(
        "Packets that steer the link came damaged", f"{DEVICES}/*/aer_dev_correctable BadDLLP", trouble=True
    )
    rollover: Seen[int] = counter(
        "Four times in a row a packet did not get through: the link is trained anew, and everything waits",
        f"{DEVICES}/*/aer_dev_correctable Rollover",
        trouble=True,
    )
    timeout: Seen[int] = counter(
        "Nobody acknowledged a packet in time: it was sent again",
        f"{DEVICES}/*/aer_dev_correctable Timeout",
        trouble=True,
    )
    nonfatal: Seen[int] = counter(
        "A transfer was lost, and the link was not",
        f"{DEVICES}/*/aer_dev_nonfatal TOTAL_ERR_NONFATAL",
        trouble=True,
    )
    fatal: Seen[int] = counter(
        "The link became unreliable, and was reset", f"{DEVICES}/*/aer_dev_fatal TOTAL_ERR_FATAL", trouble=True
    )


class Sleep(Section):
    runtime_status: Seen[str] = state(
        "Of what is suspended the registers are not read, because that would wake it",
        f"{DEVICES}/*/power/runtime_status",
        settled="link traffic",
        context=True,
    )


class Power(Sleep):
    control: Seen[str] = config(
        "`auto` lets a device sleep when nobody uses it: who comes next waits until it and the bridges above are awake",
        f"{DEVICES}/*/power/control",
        restore=f"echo {{value}} > {DEVICES}/{{key}}/power/control",
    )
    power_state: Seen[str] = state(
        "How deep it sleeps: from D3cold it comes back through a reset of the link",
        f"{DEVICES}/*/power_state",
        settled="link traffic",
        context=True,
    )
    d3cold_allowed: Seen[int] = config(
        "Whether a sleeping device may lose its power whole: waking it then takes a tenth of a second",
        f"{DEVICES}/*/d3cold_allowed",
        restore=f"echo {{value}} > {DEVICES}/{{key}}/d3cold_allowed",
    )


class Function(Section):
    """What bridges and devices have in common. Ids are the kernel's, in lower case."""

    pci_id: Seen[str] = identity(
        "Which part sits there, VENDOR:DEVICE: the same driver does other things with another one",
        f"{DEVICES}/*/uevent PCI_ID",
        context=True,
    )
    driver: Seen[str] = state(
        "A device that vfio-pci or no driver has is not there for the rest",
        f"{DEVICES}/*/uevent DRIVER",
        settled="always",
    )
    root_bus: Seen[str] = identity(
        "Devices of different root buses reach each other through the CPU's fabric", f"{DEVICES}/*", context=True
    )
    max_link_speed: Seen[int] = config(
        "The most that this end of the link can: a firmware's option for a slot, or a limit of errors past, lowers it",
        f"{DEVICES}/*/max_link_speed, or Link Capabilities in config",
        "MT/s",
    )
    max_link_width: Seen[int] = config(
        "Lanes that this end has: a slot of 16 may be wired, or split by firmware, for 8 or 4",
        f"{DEVICES}/*/max_link_width, or Link Capabilities in config",
        "lanes",
    )
    usable_link_speed: Seen[int] = state(
        "The most that the link above it can, for both of its ends can it: what is below that was lost in training",
        f"{DEVICES}/*/max_link_speed of both ends",
        "MT/s",
        settled="always",
        follows=("pcie/*/*/max_link_speed",),
    )
    usable_link_width: Seen[int] = state(
        "The lanes that both ends of the link above it have: fewer at work are a seat, a riser or a cable",
        f"{DEVICES}/*/max_link_width of both ends",
        "lanes",
        settled="always",
        follows=("pcie/*/*/max_link_width",),
    )
    aspm: Seen[str] = config(
        "Sleep states that the link may enter between packets: waking from L1 takes microseconds, each time",
        f"{CONFIG}, Link Control",
        follows=("pcie/aspm_policy",),
    )
    max_payload: Seen[int] = config(
        "Of 128 bytes a packet loses a sixth to its header, of 256 half of that: the smallest on the way holds for all",
        f"{CONFIG}, Device Control",
        "B",
    )
    max_payload_supported: Seen[int] = identity(
        "What it could take: the others on the way decide as well", f"{CONFIG}, Device Capabilities", "B", context=True
    )
    aer: Aer = Aer()


class Bridge(Function):
    """A root port, a switch's port, or a bridge to conventional PCI: one above a device that matters here."""

    power: Sleep = Sleep()
    current_link_speed: Seen[int] = state(
        "Of the link above a switch: it is shared by all that hangs below",
        f"{DEVICES}/*/current_link_speed, or Link Status in config",
        "MT/s",
        settled="always",
    )
    current_link_width: Seen[int] = state(
        "Lanes of the link above a switch: fewer than both ends have is a cable or a seat",
        f"{DEVICES}/*/current_link_width, or Link Status in config",
        "lanes",
        settled="always",
    )
    acs_control: Seen[tuple[str, ...]] = config(
        "ReqRedir and CmpltRedir send what one GPU says to another up to the root port and its IOMMU: half the "
        "bandwidth, or a collective that hangs",
        f"{CONFIG}, ACS Control",
        follows=("kernel/cmdline/pci", "kernel/cmdline/*acs_override*"),
    )
    acs_capability: Seen[tuple[str, ...]] = identity(
        "What of access control this port has at all", f"{CONFIG}, ACS Capability", context=True
    )


class Narrowest(Section):
    """The hop on the way from the CPU that carries least: of equal ones that which is nearer to the CPU. Links are
    taken as they are; of a GPU's own and of its board's, which slow at rest, what both ends can."""

    hop: Seen[str] = state(
        "Which link it is, by the address at its lower end", f"{DEVICES}/*/current_link_speed", settled="always",
        follows=("pcie/*/*/narrowest/bandwidth",),
    )  # fmt: skip
    speed: Seen[int] = state(
        "What a lane of the narrowest hop carries",
        f"{DEVICES}/*/current_link_speed, max_link_speed",
        "MT/s",
        settled="always",
        follows=("pcie/*/*/current_link_speed", "pcie/*/*/max_link_speed"),
    )
    width: Seen[int] = state(
        "How many lanes the narrowest hop has",
        f"{DEVICES}/*/current_link_width",
        "lanes",
        settled="always",
        follows=("pcie/*/*/current_link_width", "pcie/*/*/max_link_width"),
    )
    bandwidth: Seen[int] = state(
        "What comes through at most, one way: a GPU of 16 lanes below a chipset has 4 of them",
        f"{DEVICES}/*/current_link_speed and current_link_width",
        "MB/s",
        settled="always",
        follows=("pcie/*/*/current_link_*", "pcie/*/*/max_link_*"),
    )


class Endpoint(Function):
    """A device that does the work."""

    subsystem_id: Seen[str] = identity(
        "Whose board it is: makers set their own limits in its firmware",
        f"{DEVICES}/*/uevent PCI_SUBSYS_ID",
        context=True,
    )
    class_code: Seen[str] = identity(
        "What it says it is, e.g. 030200: a GPU with a display is 030000", f"{DEVICES}/*/uevent PCI_CLASS", context=True
    )
    bridges: Seen[tuple[str, ...]] = identity(
        "The way up, the root port first: another slot is another way", f"{DEVICES}/*", context=True
    )
    attachment: Seen[str] = state(
        "A port of the chipset gave 6.5 GB/s where one of the CPU gave 13.2, and `nvidia-smi topo -m` calls both PHB",
        f"{DEVICES}/*",
        settled="always",
    )
    numa_node: Seen[int] = state(
        "Which memory node is near to it", f"{DEVICES}/*/numa_node", settled="always",
        follows=("gpu/*/pcie/numa_node",),
    )  # fmt: skip
    power: Power = Power()
    narrowest: Narrowest = Narrowest()
    max_read_request: Seen[int] = config(
        "How much it asks of memory at once: of 128 bytes each a card of 200 Gb/s does not read at its rate",
        f"{CONFIG}, Device Control",
        "B",
    )
    relaxed_ordering: Seen[bool] = config(
        "Whether its writes may pass each other: strictly in order a card of 200 Gb/s gave 150 on some CPUs",
        f"{CONFIG}, Device Control",
    )
    extended_tags: Seen[bool] = config(
        "Whether it may have 256 reads under way at once, or 32: over a long way the latter do not fill it",
        f"{CONFIG}, Device Control",
    )
    ats: Seen[bool] = config(
        "Whether it keeps translations of the IOMMU itself: without it each access asks", f"{CONFIG}, ATS Control"
    )
    pasid: Seen[bool] = config(
        "Whether it may use a process's own addresses, as for shared virtual memory", f"{CONFIG}, PASID Control"
    )
    iommu_group: Seen[str] = identity(
        "What cannot be told apart by the IOMMU: devices of one group are given away together",
        f"{DEVICES}/*/iommu_group",
        context=True,
    )
    iommu_group_type: Seen[str] = state(
        "`identity` leaves its addresses as they are; DMA and DMA-FQ translate each, peers included",
        "/sys/kernel/iommu_groups/*/type",
        settled="always",
        follows=("pcie/iommu/mode",),
    )


class Gpu(Endpoint):
    """A GPU or another accelerator; a board's management screen is none."""

    current_link_speed: Seen[int] = state(
        "At rest boards slow their link to 2500 to save power; at work it should be the most that both ends can",
        f"{DEVICES}/*/current_link_speed, or Link Status in config",
        "MT/s",
        settled="gpu busy",
        follows=("gpu/*/pcie/link_gen_current",),
    )
    current_link_width: Seen[int] = state(
        "Lanes of its own link: these do not come and go with load",
        f"{DEVICES}/*/current_link_width, or Link Status in config",
        "lanes",
        settled="always",
        follows=("gpu/*/pcie/link_width_current",),
    )
    bars: Seen[tuple[int, ...]] = config(
        "How much of its memory peers and the CPU reach at once, by region: 256 MiB of the second one is no resizable "
        "BAR, and 32 GiB is one",
        f"{DEVICES}/*/resource",
        "B",
    )
    resizable_to: Seen[int] = identity(
        "To what its largest region could be resized by a firmware that does so",
        f"{CONFIG}, Resizable BAR Capability",
        "MiB",
        context=True,
    )
    distances: Seen[Map[Seen[str]]] = state(
        "How far other GPUs and network cards are, in the words of `nvidia-smi topo -m`: beyond PIX and PXB each step "
        "has less bandwidth",
        f"{DEVICES}/*, numa_node, {NODES}",
        settled="always",
        follows=("gpu/*/peers/*/topology",),
    )


class Card(Endpoint):
    """A network card, an NVMe drive or an NVSwitch, as `kind` says; of a card's virtual functions only their number."""

    kind: Seen[str] = identity("nic, nvme or nvswitch, by class and vendor", f"{DEVICES}/*/uevent", context=True)
    current_link_speed: Seen[int] = state(
        "A card whose link is below its maximum carries less than its port",
        f"{DEVICES}/*/current_link_speed, or Link Status in config",
        "MT/s",
        settled="always",
    )
    current_link_width: Seen[int] = state(
        "An x16 card in a slot of 8 lanes has half of its bandwidth",
        f"{DEVICES}/*/current_link_width, or Link Status in config",
        "lanes",
        settled="always",
    )
    sriov_numvfs: Seen[int] = config(
        "Into how many virtual functions it is divided: they share its port, and switch packets in the card",
        f"{DEVICES}/*/sriov_numvfs",
        restore=f"echo {{value}} > {DEVICES}/{{key}}/sriov_numvfs",
    )


class Iommu(Section):
    mode: Seen[str] = state(
        "none, passthrough (addresses stay as they are), translated, or mixed, of the devices told here: translated, "
        "peers reach each other through the root port, slower or not at all",
        "/sys/class/iommu, /sys/kernel/iommu_groups/*/type",
        settled="always",
        follows=("kernel/cmdline/*iommu", "kernel/cmdline/iommu.*"),
    )
    units: Seen[tuple[str, ...]] = state(
        "Which IOMMUs the kernel uses: firmware or the kernel's line may have switched them off",
        "/sys/class/iommu",
        settled="always",
        follows=("pcie/iommu/mode", "kernel/cmdline/*iommu"),
    )


class Pcie(Section):
    aspm_policy: Seen[str] = config(
        "Which sleep states the kernel grants to links: `performance` none, `powersave` L0s and L1",
        "/sys/module/pcie_aspm/parameters/policy",
        restore="echo {value} > /sys/module/pcie_aspm/parameters/policy",
        follows=("kernel/cmdline/pcie_aspm*",),
    )
    iommu: Iommu = Iommu()
    gpus: Seen[Map[Gpu]] = state("GPUs and other accelerators on the bus", f"{DEVICES}/*", settled="always")
    cards: Seen[Map[Card]] = state(
        "Network cards, NVMe drives and NVSwitches on the bus", f"{DEVICES}/*", settled="always"
    )
    bridges: Seen[Map[Bridge]] = state(
        "The bridges above them: with another slot or a switch the ways are others", f"{DEVICES}/*", settled="always"
    )
