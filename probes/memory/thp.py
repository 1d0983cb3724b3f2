"""Transparent huge pages: /sys/kernel/mm/transparent_hugepage (Documentation/admin-guide/mm/transhuge.rst)."""

from probes.kit.facts import Map, Section, Seen, config, counter, identity, then
from probes.kit.host import Host
from probes.kit.knobs import knob, read_each
from probes.kit.parse import selected

ROOT = "/sys/kernel/mm/transparent_hugepage"
_SIZE = f"{ROOT}/hugepages-*"


class Khugepaged(Section):
    """The thread that collapses small pages into huge ones behind a program's back."""

    defrag: Seen[int] = knob(
        f"{ROOT}/khugepaged/defrag", "Whether khugepaged may compact memory to find a huge page: CPU taken from the run"
    )
    pages_to_scan: Seen[int] = knob(
        f"{ROOT}/khugepaged/pages_to_scan",
        "How much khugepaged looks at per wake-up: how soon old mappings become huge",
        "pages",
    )
    scan_sleep_millisecs: Seen[int] = knob(
        f"{ROOT}/khugepaged/scan_sleep_millisecs", "Pause between scans: 0 keeps one core busy scanning", "ms"
    )
    alloc_sleep_millisecs: Seen[int] = knob(
        f"{ROOT}/khugepaged/alloc_sleep_millisecs",
        "Pause after a failed huge allocation: how long mappings stay small",
        "ms",
    )
    max_ptes_none: Seen[int] = knob(
        f"{ROOT}/khugepaged/max_ptes_none",
        "Empty pages that a collapse may fill: memory use against TLB reach",
        "pages",
    )
    max_ptes_swap: Seen[int] = knob(
        f"{ROOT}/khugepaged/max_ptes_swap",
        "Swapped pages that a collapse reads back: disk reads nobody asked for",
        "pages",
    )
    max_ptes_shared: Seen[int] = knob(
        f"{ROOT}/khugepaged/max_ptes_shared",
        "Shared pages a collapse may copy: forked workers keep or lose huge pages",
        "pages",
    )
    pages_collapsed: Seen[int] = counter(
        "Huge pages made during the run: page tables changed under the program", f"{ROOT}/khugepaged/pages_collapsed"
    )
    full_scans: Seen[int] = counter(
        "Passes over all mappings: whether khugepaged worked during the run at all", f"{ROOT}/khugepaged/full_scans"
    )


class PageSize(Section):
    """One size of /sys/kernel/mm/transparent_hugepage (since Linux 6.8); `inherit` takes the global setting."""

    enabled: Seen[str] = config(
        "Whether anonymous memory may use folios of this size: faults per GiB touched, TLB misses",
        f"{_SIZE}/enabled",
        restore=f"echo {{value}} > {ROOT}/hugepages-{{key}}/enabled",
    )
    shmem_enabled: Seen[str] = config(
        "Whether shared memory may use folios of this size: /dev/shm buffers between workers",
        f"{_SIZE}/shmem_enabled",
        restore=f"echo {{value}} > {ROOT}/hugepages-{{key}}/shmem_enabled",
    )
    anon_fault_alloc: Seen[int] = counter(
        "Faults that got a folio of this size: whether the setting had any effect in the run",
        f"{_SIZE}/stats/anon_fault_alloc",
    )
    anon_fault_fallback: Seen[int] = counter(
        "Faults that wanted this size and got a smaller one: memory was too fragmented",
        f"{_SIZE}/stats/anon_fault_fallback",
    )
    split: Seen[int] = counter(
        "Folios of this size broken up again: reclaim, partial unmapping or migration undid them",
        f"{_SIZE}/stats/split",
    )


class TransparentHugepage(Section):
    enabled: Seen[str] = knob(
        f"{ROOT}/enabled", "Huge pages for plain mappings: 1.8 to 2.9 times on memory-bound code, and worse when paging"
    )
    defrag: Seen[str] = knob(
        f"{ROOT}/defrag", "Whether a fault waits for compaction: the stalls of `always` against small pages of `never`"
    )
    shmem_enabled: Seen[str] = knob(
        f"{ROOT}/shmem_enabled", "Huge pages in /dev/shm and memfd: the buffers through which workers exchange tensors"
    )
    use_zero_page: Seen[int] = knob(
        f"{ROOT}/use_zero_page", "Whether reading untouched memory maps one shared huge zero page or allocates"
    )
    shrink_underused: Seen[int] = knob(
        f"{ROOT}/shrink_underused", "Whether memory pressure splits huge pages that are mostly zero"
    )
    hpage_pmd_size: Seen[int] = identity(
        "What `huge` means on this architecture: 2 MiB, or 512 MiB with 64 KiB base pages",
        f"{ROOT}/hpage_pmd_size",
        "bytes",
        context=True,
    )
    khugepaged: Khugepaged = Khugepaged()
    sizes: Seen[Map[PageSize]] = config(
        "The folio sizes that this kernel can choose from, each with a switch of its own", _SIZE, context=True
    )


def choice(host: Host, path: str) -> Seen[str]:
    """The bracketed word of a choice file."""
    return then(host.text(path), selected)


def read_transparent_hugepage(host: Host) -> TransparentHugepage:
    return TransparentHugepage(
        enabled=choice(host, f"{ROOT}/enabled"),
        defrag=choice(host, f"{ROOT}/defrag"),
        shmem_enabled=choice(host, f"{ROOT}/shmem_enabled"),
        use_zero_page=host.number(f"{ROOT}/use_zero_page"),
        shrink_underused=host.number(f"{ROOT}/shrink_underused"),
        hpage_pmd_size=host.number(f"{ROOT}/hpage_pmd_size"),
        khugepaged=read_each(Khugepaged, host.number),
        sizes=then(host.names(ROOT), lambda names: _sizes(host, names)),
    )


def _sizes(host: Host, names: tuple[str, ...]) -> Map[PageSize]:
    sizes = [name.removeprefix("hugepages-") for name in names if name.startswith("hugepages-")]
    return Map({size: _page_size(host, f"{ROOT}/hugepages-{size}") for size in sizes})


def _page_size(host: Host, folder: str) -> PageSize:
    return PageSize(
        enabled=choice(host, f"{folder}/enabled"),
        shmem_enabled=choice(host, f"{folder}/shmem_enabled"),
        anon_fault_alloc=host.number(f"{folder}/stats/anon_fault_alloc"),
        anon_fault_fallback=host.number(f"{folder}/stats/anon_fault_fallback"),
        split=host.number(f"{folder}/stats/split"),
    )
