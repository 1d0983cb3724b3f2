"""Memory: how much there is, how it is handed out, and what handing it out cost."""

from probes.kit.facts import Map, Section, Seen, config, identity, state, then
from probes.kit.host import Host
from probes.kit.knobs import knob, read_each
from probes.kit.probe import Target, probe
from probes.memory.hugepages import Pool, read_hugepages
from probes.memory.swap import Device, Ksm, LruGen, Zswap, read_ksm, read_lru_gen, read_swap, read_zswap
from probes.memory.thp import TransparentHugepage, read_transparent_hugepage
from probes.memory.usage import Usage, Vmstat, kib_of, meminfo, read_usage, read_vmstat
from probes.memory.vm import Vm, read_vm

BLOCKS = "/sys/devices/system/memory"
MODULE = "/sys/module/memory_hotplug/parameters"


class Hotplug(Section):
    """What becomes of memory that a hypervisor or a CXL device adds."""

    auto_online_blocks: Seen[str] = knob(
        f"{BLOCKS}/auto_online_blocks", "Whether added memory is used at once, and whether kernel memory may lie in it"
    )
    online_policy: Seen[str] = knob(
        f"{MODULE}/online_policy",
        "In which zone added memory lands: a movable zone takes no kernel memory and no pinned pages",
    )
    memmap_on_memory: Seen[str] = config(
        "Whether page structs of added memory lie in it: slow memory makes page faults slow",
        f"{MODULE}/memmap_on_memory",
    )
    block_size_bytes: Seen[int] = identity(
        "The grain in which memory comes and goes", f"{BLOCKS}/block_size_bytes (hexadecimal)", "bytes", context=True
    )


class Memory(Section):
    # The hypervisor of a guest moves MemTotal by a few MiB between boots and with a balloon.
    total: Seen[int] = state(
        "Memory that the kernel manages: a failed module or a smaller guest leaves less for the page cache",
        "/proc/meminfo, MemTotal",
        "kB",
        settled="always",
        tolerance=65536,
    )
    swap_total: Seen[int] = state(
        "All swap together: without any the kernel kills where it would have slowed down",
        "/proc/meminfo, SwapTotal",
        "kB",
        settled="always",
        follows=("memory/swap", "memory/swap/**"),
    )
    swap: Seen[Map[Device]] = config("The devices that memory may go to when it runs short", "/proc/swaps")
    vm: Vm = Vm()
    transparent_hugepage: TransparentHugepage = TransparentHugepage()
    hugepages: Seen[Map[Pool]] = config(
        "The huge page sizes that can be set aside", "/sys/kernel/mm/hugepages", context=True
    )
    zswap: Zswap = Zswap()
    ksm: Ksm = Ksm()
    lru_gen: LruGen = LruGen()
    hotplug: Hotplug = Hotplug()
    demotion_enabled: Seen[str] = knob(
        "/sys/kernel/mm/numa/demotion_enabled", "Whether reclaim moves pages to slower memory instead of dropping them"
    )
    vma_ra_enabled: Seen[str] = knob(
        "/sys/kernel/mm/swap/vma_ra_enabled", "Whether swap is read ahead by address or by place on the device"
    )
    usage: Usage = Usage()
    vmstat: Vmstat = Vmstat()


@probe(of="host")
def memory(host: Host, _target: Target) -> Memory:
    table = meminfo(host)
    return Memory(
        total=kib_of(table, "MemTotal"),
        swap_total=kib_of(table, "SwapTotal"),
        swap=read_swap(host),
        vm=read_vm(host),
        transparent_hugepage=read_transparent_hugepage(host),
        hugepages=read_hugepages(host),
        zswap=read_zswap(host),
        ksm=read_ksm(host),
        lru_gen=read_lru_gen(host),
        hotplug=_hotplug(host),
        demotion_enabled=host.line("/sys/kernel/mm/numa/demotion_enabled"),
        vma_ra_enabled=host.line("/sys/kernel/mm/swap/vma_ra_enabled"),
        usage=read_usage(table),
        vmstat=read_vmstat(host),
    )


def _hotplug(host: Host) -> Hotplug:
    block = then(host.text(f"{BLOCKS}/block_size_bytes"), lambda text: int(text, 16))
    return read_each(Hotplug, host.line, block_size_bytes=block)
