import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fingerprint.sections import part
from probes.kit.facts import Gap, Map, Seen
from probes.kit.host import Host
from probes.memory.swap import Device
from tests.probes.tree import Forbidding, causes, changed, lasting, read, tree
from tests.turned import kept, setting, standing, turned, turning

THP = "/sys/kernel/mm/transparent_hugepage"
POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB"
NODE = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB"
KSM = "/sys/kernel/mm/ksm"
SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="turns settings of the kernel, which takes root")


def pool(folder: str, total: int, surplus: int) -> dict[str, str]:
    return {f"{folder}/nr_hugepages": f"{total}\n", f"{folder}/surplus_hugepages": f"{surplus}\n",
            f"{folder}/free_hugepages": "1\n"}  # fmt: skip


def test_a_parameter_is_read_under_its_own_name(tmp_path: Path) -> None:
    files = {"/proc/sys/vm/swappiness": "60\n", "/proc/sys/vm/page-cluster": "3\n"}
    vm = read("memory", tree(tmp_path, files)).vm
    assert (vm.swappiness, vm.page_cluster, vm.dirty_ratio) == (60, 3, Gap("not_read"))


def test_a_list_of_numbers_keeps_its_order(tmp_path: Path) -> None:
    vm = read("memory", tree(tmp_path, {"/proc/sys/vm/lowmem_reserve_ratio": "256\t256\t32\t0\t0\n"})).vm
    assert vm.lowmem_reserve_ratio == (256, 256, 32, 0, 0)


@pytest.mark.parametrize("content", ["", "plenty\n", "1 2\n"])
def test_a_parameter_that_is_no_number_is_failed(tmp_path: Path, content: str) -> None:
    assert read("memory", tree(tmp_path, {"/proc/sys/vm/swappiness": content})).vm.swappiness == Gap("failed")


def test_the_bracketed_choice_is_the_one_in_force(tmp_path: Path) -> None:
    files = {f"{THP}/enabled": "always [madvise] never\n", f"{THP}/defrag": "always defer madvise never\n"}
    thp = read("memory", tree(tmp_path, files)).transparent_hugepage
    assert (thp.enabled, thp.defrag) == ("madvise", Gap("failed"))


def test_each_folio_size_has_a_switch_of_its_own(tmp_path: Path) -> None:
    files = {
        f"{THP}/hugepages-64kB/enabled": "always [inherit] madvise never\n",
        f"{THP}/hugepages-64kB/stats/anon_fault_fallback": "7\n",
        f"{THP}/hugepages-2048kB/enabled": "[always] inherit madvise never\n",
        f"{THP}/khugepaged/pages_to_scan": "4096\n",
    }
    thp = read("memory", tree(tmp_path, files)).transparent_hugepage
    assert {size: page.enabled for size, page in thp.sizes.items.items()} == {"64kB": "inherit", "2048kB": "always"}
    assert thp.sizes.items["64kB"].anon_fault_fallback == 7
    assert thp.khugepaged.pages_to_scan == 4096


def test_surplus_pages_are_no_setting(tmp_path: Path) -> None:
    host = tree(tmp_path, {**pool(POOL, 512, 12), **pool(NODE.format(0), 300, 12), **pool(NODE.format(1), 212, 0)})
    huge = read("memory", host).hugepages.items["2048kB"]
    assert (huge.nr_hugepages, huge.surplus_hugepages) == (500, 12)
    assert {name: node.nr_hugepages for name, node in huge.nodes.items.items()} == {"node0": 288, "node1": 212}


class Restless(Host):
    """Surplus pages that come and go: each reading of a counter finds another number."""

    def __init__(self, root: str, changes: int) -> None:
        super().__init__(root)
        self.changes = changes

    def number(self, path: str) -> Seen[int]:
        seen = super().number(path)
        if path.endswith("surplus_hugepages") and self.changes and not isinstance(seen, Gap):
            self.changes -= 1
            return seen + self.changes
        return seen


@pytest.mark.parametrize(("changes", "told"), [(2, 500), (99, Gap("failed"))])
def test_surplus_that_moves_between_two_reads_is_read_again_and_never_told_as_a_setting(
    tmp_path: Path, changes: int, told: Seen[int]
) -> None:
    host = Restless(tree(tmp_path, pool(POOL, 512, 12)).root, changes)
    assert read("memory", host).hugepages.items["2048kB"].nr_hugepages == told


def test_pools_are_read_on_a_kernel_without_nodes(tmp_path: Path) -> None:
    huge = read("memory", tree(tmp_path, pool(POOL, 4, 0))).hugepages.items["2048kB"]
    assert (huge.nr_hugepages, huge.nodes) == (4, Gap("not_read"))


def test_other_folders_beside_the_nodes_are_none(tmp_path: Path) -> None:
    files = {**pool(POOL, 4, 0), **pool(NODE.format(0), 4, 0), "/sys/devices/system/node/power/control": "auto\n",
             "/sys/devices/system/node/online": "0\n"}  # fmt: skip
    assert set(read("memory", tree(tmp_path, files)).hugepages.items["2048kB"].nodes.items) == {"node0"}


def test_swap_devices_are_keyed_by_name_and_only_their_use_is_volatile(tmp_path: Path) -> None:
    lines = "/dev/nvme0n1p3 partition 8388604 1024 -2\n/swap\\040file file 1024 0 5\n"
    section = read("memory", tree(tmp_path, {"/proc/swaps": SWAPS + lines}))
    assert section.swap.items["/dev/nvme0n1p3"] == Device(type="partition", size=8388604, used=1024, priority=-2)
    assert set(section.swap.items) == {"/dev/nvme0n1p3", "/swap\\040file"}
    assert part(section, lasting=True).swap.items["/dev/nvme0n1p3"].used == Gap("not_read")


def test_no_swap_is_an_empty_collection_and_no_gap(tmp_path: Path) -> None:
    assert read("memory", tree(tmp_path, {"/proc/swaps": SWAPS})).swap == Map({})


@pytest.mark.parametrize("line", ["/dev/sda2 partition 100 0\n", "/dev/sda2 partition much 0 -2\n"])
def test_a_swap_table_that_makes_no_sense_is_failed(tmp_path: Path, line: str) -> None:
    assert read("memory", tree(tmp_path, {"/proc/swaps": SWAPS + line})).swap == Gap("failed")


def test_the_scan_rate_is_no_setting_while_an_advisor_moves_it(tmp_path: Path) -> None:
    files = {f"{KSM}/pages_to_scan": "731\n", f"{KSM}/advisor_mode": "none [scan-time]\n"}
    assert read("memory", tree(tmp_path, files)).ksm.pages_to_scan == Gap("unsupported")
    files[f"{KSM}/advisor_mode"] = "[none] scan-time\n"
    assert read("memory", tree(tmp_path, files)).ksm.pages_to_scan == 731


def test_the_scan_rate_is_a_setting_on_a_kernel_without_advisors(tmp_path: Path) -> None:
    assert read("memory", tree(tmp_path, {f"{KSM}/pages_to_scan": "100\n"})).ksm.pages_to_scan == 100


def test_sizes_of_meminfo_are_in_kib_and_each_stands_alone(tmp_path: Path) -> None:
    meminfo = (
        "MemTotal:       24683652 kB\nMemFree: many kB\nCached: 71924 MB\nHugePages_Total:       0\nDirty: 580 kB\n"
    )
    section = read("memory", tree(tmp_path, {"/proc/meminfo": meminfo}))
    assert (section.total, section.usage.dirty) == (24683652, 580)
    assert (section.usage.free, section.usage.cached) == (Gap("failed"), Gap("failed"))
    assert section.usage.balloon == Gap("unsupported")


def test_stalled_allocations_are_summed_over_zones_and_read_from_old_kernels(tmp_path: Path) -> None:
    new = "allocstall_dma 1\nallocstall_normal 20\nallocstall_movable 300\npgmajfault 723\n"
    vmstat = read("memory", tree(tmp_path, {"/proc/vmstat": new})).vmstat
    assert (vmstat.allocstall, vmstat.pgmajfault, vmstat.oom_kill) == (321, 723, Gap("unsupported"))
    assert read("memory", tree(tmp_path, {"/proc/vmstat": "allocstall 9\n"})).vmstat.allocstall == 9
    assert read("memory", tree(tmp_path, {"/proc/vmstat": "pgfault 9\n"})).vmstat.allocstall == Gap("unsupported")


def test_the_block_size_is_hexadecimal_without_saying_so(tmp_path: Path) -> None:
    files = {"/sys/devices/system/memory/block_size_bytes": "8000000\n"}
    assert read("memory", tree(tmp_path, files)).hotplug.block_size_bytes == 134217728


def test_what_may_not_be_read_is_denied_and_the_rest_is_there() -> None:
    section = read("memory", Forbidding("/proc/vmstat", THP, "/proc/swaps"))
    assert section.vmstat.oom_kill == section.transparent_hugepage.enabled == section.swap == Gap("denied")
    assert section.transparent_hugepage.sizes == Gap("denied")
    assert section.total > 0


def test_this_machine_has_memory_and_settings() -> None:
    section = read("memory", Host())
    assert section.total > section.usage.free > 0
    assert 0 <= section.vm.swappiness <= 200


def test_two_readings_of_this_machine_are_equal_in_what_lasts() -> None:
    with standing():
        assert changed(lasting("memory"), lasting("memory")) == set()


PAIRS = (
    ("dirty_bytes", "dirty_ratio"),
    ("dirty_background_bytes", "dirty_background_ratio"),
    ("overcommit_kbytes", "overcommit_ratio"),
)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize(("limit", "ratio"), PAIRS)
def test_a_limit_set_in_bytes_is_the_cause_and_its_ratio_the_consequence(limit: str, ratio: str) -> None:
    with turning(), kept(f"/proc/sys/vm/{limit}", f"/proc/sys/vm/{ratio}"):
        Path(f"/proc/sys/vm/{ratio}").write_text("15")
        before = lasting("memory", "kernel")
        Path(f"/proc/sys/vm/{limit}").write_text("104857600")
        after = lasting("memory", "kernel")
        assert causes(before, after) == {f"memory/vm/{limit}"}
        assert {str(path) for path in changed(before, after)} == {f"memory/vm/{limit}", f"memory/vm/{ratio}"}


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("mode", ["always", "madvise"])
def test_a_turned_thp_mode_explains_the_free_memory_that_khugepaged_demands(mode: str) -> None:
    """min_free_kbytes is lowered first, so that khugepaged has something to raise."""
    enabled, reserve = f"{THP}/enabled", "/proc/sys/vm/min_free_kbytes"
    if not os.access(enabled, os.W_OK):
        pytest.skip("this kernel has no transparent huge pages")
    with turning(), turned(reserve, setting(reserve)), turned(enabled, "never"):
        Path(reserve).write_text("11000")
        before = lasting("memory", "kernel")
        Path(enabled).write_text(mode)
        assert causes(before, lasting("memory", "kernel")) == {"memory/transparent_hugepage/enabled"}


@pytest.mark.root
@needs_root
def test_a_huge_page_set_aside_is_a_change_of_its_node(tmp_path: Path) -> None:
    count = f"{POOL}/nr_hugepages"
    if not os.access(count, os.W_OK):
        pytest.skip("this kernel has no 2 MiB huge pages")
    with turning():
        before = lasting("memory", "kernel")
        with turned(count, str(int(setting(count)) + 1)):
            moved = causes(before, lasting("memory", "kernel"))
    assert len(moved) == 1
    assert moved.pop().endswith("/nr_hugepages")


@pytest.mark.root
@needs_root
def test_an_added_swap_file_is_the_cause_of_more_swap(tmp_path: Path) -> None:
    file = tmp_path / "swap"
    file.write_bytes(bytes(1 << 20))
    file.chmod(0o600)
    if not shutil.which("mkswap") or subprocess.run(["mkswap", file], capture_output=True).returncode:
        pytest.skip("no mkswap here")
    with turning():
        before = lasting("memory")
        if subprocess.run(["swapon", file], capture_output=True).returncode:
            pytest.skip("swap files are not allowed here")
        try:
            after = lasting("memory")
        finally:
            subprocess.run(["swapoff", file], check=True)
    assert "memory/swap" in causes(before, after)
    assert "memory/swap_total" in {str(path) for path in changed(before, after)} - causes(before, after)
