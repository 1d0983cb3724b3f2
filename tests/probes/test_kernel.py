from pathlib import Path

import pytest

from probes.kernel.cmdline import parameters, split
from probes.kernel.taint import FLAGS, taints
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.kit.redact import Redactor
from tests.probes.tree import Forbidding, changed, lasting, read, tree
from tests.turned import standing

CLOCK = "/sys/devices/system/clocksource/clocksource0"
SCHED = "/sys/kernel/debug/sched"
MODULES = (
    "nvidia 104071168 420 nvidia_uvm,nvidia_modeset, Live 0xffffffffc2000000 (POE)\n"
    "nvme_fabrics 32768 0 - Loading 0xffffffffc1f00000\n"
    "mlx5_core 2424832 1 mlx5_ib, Live 0x0000000000000000\n"
)
NVIDIA = {
    "/sys/module/nvidia/version": "570.133.20\n",
    "/sys/module/nvidia/srcversion": "9A3E5C1D2B4F60718293A4B\n",
    "/sys/module/nvidia/taint": "POE\n",
    "/sys/module/nvidia/parameters/NVreg_EnableGpuFirmware": "18\n",
}


def test_the_kernel_is_named_by_release_version_and_architecture(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "/proc/sys/kernel/version": "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024\n",
        "/proc/sys/kernel/arch": "x86_64\n",
    }
    kernel = read("kernel", tree(tmp_path, files))
    assert (kernel.release, kernel.machine, kernel.preemption) == ("6.8.0-45-generic", "x86_64", "PREEMPT_DYNAMIC")
    assert kernel.version.startswith("#45-Ubuntu")


@pytest.mark.parametrize(
    ("version", "model"),
    [("#1 SMP PREEMPT_RT Debian 6.1", "PREEMPT_RT"), ("#1 SMP PREEMPT", "PREEMPT"), ("#1 SMP", "none or voluntary")],
)
def test_the_version_tells_the_preemption_model(tmp_path: Path, version: str, model: str) -> None:
    assert read("kernel", tree(tmp_path, {"/proc/sys/kernel/version": version})).preemption == model


def test_the_command_line_is_split_as_the_kernel_splits_it() -> None:
    line = 'root=UUID=1 dyndbg="file drivers/usb/* +p" isolcpus=2-7  quiet "with blank" -- single\n'
    assert split(line) == [
        "root=UUID=1", 'dyndbg="file drivers/usb/* +p"', "isolcpus=2-7", "quiet", '"with blank"', "--", "single",
    ]  # fmt: skip
    assert split('open="to the end') == ['open="to the end']
    assert split("\n") == []


def test_the_boot_loaders_file_names_are_left_out_of_the_command_line(tmp_path: Path) -> None:
    line = "BOOT_IMAGE=/vmlinuz-6.8.0-45 initrd=\\init-6.8.0-45 iommu=pt\n"
    assert read("kernel", tree(tmp_path, {"/proc/cmdline": line})).cmdline == Map({"iommu": ("pt",)})


def test_the_command_line_is_told_by_parameter_as_the_kernel_names_them() -> None:
    line = 'quiet console=tty0 intel-idle.max-cstate=1 console="ttyS0,9600" "dyndbg=file a +p" =x -- single -v'
    assert parameters(line, Redactor(b"k" * 32)).items == {
        "quiet": (), "console": ("tty0", "ttyS0,9600"), "intel_idle.max_cstate": ("1",), "dyndbg": ("file a +p",),
        "--": ("=x", "single", "-v"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("fetch=https://me:hunter2@boot.example/img", "fetch"),
        ("rd.iscsi.password=hunter2", "rd.iscsi.password"),
        ("API_KEY=hunter2", "API_KEY"),
        ("quiet -- --api-key=hunter2", "--"),
        ("--api-key hunter2", "--"),
        ("https://me:hunter2@boot.example/img", "--"),
        ("https://me:hunter2@boot.example/img?v=1", "--"),
    ],
)
def test_a_secret_on_the_command_line_is_kept_back_under_its_name(line: str, name: str) -> None:
    told = parameters(f"iommu=pt {line}", Redactor(b"k" * 32)).items
    assert told["iommu"] == ("pt",)
    assert "hunter2" not in repr(told)
    values = told[name]
    assert isinstance(values, tuple)
    assert isinstance(values[-1], Redacted)


def test_taints_are_named_in_the_order_of_their_bits() -> None:
    assert taints(0) == ()
    assert taints(1 << 0 | 1 << 12 | 1 << 13) == ("proprietary_module", "oot_module", "unsigned_module")
    assert taints(1 << 4 | 1 << 63) == ("machine_check", "bit 63")
    assert len(set(FLAGS)) == len(FLAGS) == 20


def test_loaded_modules_carry_what_they_were_built_from_and_told(tmp_path: Path) -> None:
    modules = read("kernel", tree(tmp_path, {"/proc/modules": MODULES, **NVIDIA})).modules.items
    assert set(modules) == {"nvidia", "mlx5_core"}
    nvidia = modules["nvidia"]
    assert (nvidia.version, nvidia.srcversion, nvidia.taint) == ("570.133.20", "9A3E5C1D2B4F60718293A4B", "POE")
    assert nvidia.parameters.items == {"NVreg_EnableGpuFirmware": "18"}
    assert modules["mlx5_core"].parameters == Gap("not_read")


def test_a_secret_among_the_parameters_is_kept_back(tmp_path: Path) -> None:
    files = {f"/sys/module/nvidia/parameters/{name}": value for name, value in (("mode", "1"), ("api_key", "hunter2"))}
    parameters = read("kernel", tree(tmp_path, {"/proc/modules": MODULES, **files})).modules.items["nvidia"].parameters
    assert parameters.items["mode"] == "1"
    assert isinstance(parameters.items["api_key"], Redacted)


def test_built_in_modules_that_matter_are_read_too_and_no_others(tmp_path: Path) -> None:
    files = {
        "/proc/modules": "",
        "/sys/module/intel_idle/parameters/max_cstate": "9\n",
        "/sys/module/page_reporting/parameters/walked": "12345\n",
    }
    modules = read("kernel", tree(tmp_path, files)).modules.items
    assert set(modules) == {"intel_idle"}
    assert modules["intel_idle"].parameters.items == {"max_cstate": "9"}


class WithoutModules(Host):
    """A kernel that cannot load modules has no /proc/modules at all."""

    def text(self, path: str, cap: int = 1 << 20, patience: float = 0.0) -> str | Gap:
        return Gap("absent") if path == "/proc/modules" else super().text(path, cap, patience)


def test_a_kernel_that_cannot_load_modules_still_has_built_in_ones(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/module/processor/parameters/max_cstate": "8\n"})
    assert set(read("kernel", WithoutModules(host.root)).modules.items) == {"processor"}


@pytest.mark.parametrize("line", ["nvidia 104071168", "\n"])
def test_a_module_list_that_makes_no_sense_is_failed(tmp_path: Path, line: str) -> None:
    files = {"/proc/modules": line + "\n", "/sys/module/processor/parameters/max_cstate": "8\n"}
    assert read("kernel", tree(tmp_path, files)).modules == Gap("failed")


def test_the_clock_source_stands_beside_what_it_could_be(tmp_path: Path) -> None:
    files = {f"{CLOCK}/current_clocksource": "hpet\n", f"{CLOCK}/available_clocksource": "hpet acpi_pm \n"}
    clock = read("kernel", tree(tmp_path, files)).clocksource
    assert (clock.current, clock.available) == ("hpet", ("hpet", "acpi_pm"))


def test_the_scheduler_is_read_from_debugfs(tmp_path: Path) -> None:
    files = {
        f"{SCHED}/preempt": "none (voluntary) full lazy\n",
        f"{SCHED}/tunable_scaling": "1\n",
        f"{SCHED}/base_slice_ns": "2800000\n",
        f"{SCHED}/features": "PLACE_LAG NO_HRTICK NEXT_BUDDY \n",
        f"{SCHED}/numa_balancing/scan_size_mb": "256\n",
    }
    sched = read("kernel", tree(tmp_path, files)).sched
    assert (sched.preempt, sched.tunable_scaling, sched.base_slice_ns) == ("voluntary", "log", 2800000)
    assert sched.features == ("NEXT_BUDDY", "NO_HRTICK", "PLACE_LAG")
    assert sched.numa_balancing.scan_size_mb == 256


def test_where_nothing_is_mounted_the_kernels_knobs_are_hidden_and_not_absent(tmp_path: Path) -> None:
    for folder in ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security"):
        (tmp_path / folder.lstrip("/")).mkdir(parents=True)
    kernel = read("kernel", tree(tmp_path, {"/proc/sys/kernel/sched_latency_ns": "24000000\n"}))
    hidden = (kernel.sched.preempt, kernel.sched.features, kernel.sched.nr_migrate, kernel.tracing.set_event,
              kernel.tracing.current_tracer, kernel.security.lsm, kernel.security.lockdown)  # fmt: skip
    assert set(hidden) == {Gap("not_observable")}
    assert kernel.sched.latency_ns == 24000000


def test_the_scheduler_of_older_kernels_is_read_from_sysctls(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/sched_migration_cost_ns": "500000\n",
        "/proc/sys/kernel/numa_balancing_scan_delay_ms": "1000\n",
    }
    sched = read("kernel", tree(tmp_path, files)).sched
    assert (sched.migration_cost_ns, sched.numa_balancing.scan_delay_ms) == (500000, 1000)


def test_an_unknown_tunable_scaling_is_failed(tmp_path: Path) -> None:
    assert read("kernel", tree(tmp_path, {f"{SCHED}/tunable_scaling": "7\n"})).sched.tunable_scaling == Gap("failed")


def test_sysctls_stand_under_their_own_names(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/threads-max": "192729\n",
        "/proc/sys/kernel/printk": "4\t4\t1\t7\n",
        "/proc/sys/kernel/yama/ptrace_scope": "1\n",
        "/proc/sys/kernel/sched_rt_runtime_us": "-1\n",
        "/proc/sys/kernel/shmmax": "18446744073692774399\n",
        "/proc/sys/fs/file-nr": "634\t0\t2466165\n",
        "/proc/sys/fs/inotify/max_user_watches": "192536\n",
        "/proc/sys/net/core/default_qdisc": "fq\n",
        "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t33554432\n",
        "/proc/sys/net/ipv4/neigh/default/gc_thresh3": "1024\n",
        "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
    }
    sysctl = read("kernel", tree(tmp_path, files)).sysctl
    assert (sysctl.kernel.threads_max, sysctl.kernel.printk) == (192729, (4, 4, 1, 7))
    assert (sysctl.kernel.yama_ptrace_scope, sysctl.kernel.sched_rt_runtime_us) == (1, -1)
    assert sysctl.kernel.shmmax == 18446744073692774399
    assert (sysctl.fs.files_open, sysctl.fs.inotify_max_user_watches) == (634, 192536)
    assert (sysctl.net.core.default_qdisc, sysctl.net.ipv4.tcp_rmem) == ("fq", (4096, 131072, 33554432))
    assert (sysctl.net.ipv4.neigh_gc_thresh3, sysctl.net.netfilter.nf_conntrack_max) == (1024, 262144)


@pytest.mark.parametrize("content", ["", "4096 many 1\n"])
def test_a_list_of_numbers_that_is_none_is_failed(tmp_path: Path, content: str) -> None:
    section = read("kernel", tree(tmp_path, {"/proc/sys/net/ipv4/tcp_rmem": "a b", "/proc/sys/fs/file-nr": content}))
    assert section.sysctl.net.ipv4.tcp_rmem == section.sysctl.fs.files_open == Gap("failed")


def test_security_modules_and_lockdown_are_read_from_securityfs(tmp_path: Path) -> None:
    files = {
        "/sys/kernel/security/lsm": "lockdown,capability,landlock,apparmor",
        "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
    }
    security = read("kernel", tree(tmp_path, files)).security
    assert security.lsm == ("lockdown", "capability", "landlock", "apparmor")
    assert security.lockdown == "integrity"


def test_tracing_left_on_is_seen(tmp_path: Path) -> None:
    files = {
        "/sys/kernel/tracing/current_tracer": "function\n",
        "/sys/kernel/tracing/set_event": "sched:sched_switch\nirq:irq_handler_entry\n",
    }
    tracing = read("kernel", tree(tmp_path, files)).tracing
    assert tracing.current_tracer == "function"
    assert tracing.set_event == ("sched:sched_switch", "irq:irq_handler_entry")


def test_live_patches_are_named(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/kernel/livepatch/kpatch_5_14_0_1/enabled": "1\n"})
    assert read("kernel", host).livepatches == ("kpatch_5_14_0_1",)


def test_the_time_of_boot_is_no_lasting_fact(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/stat": "cpu 1 2 3\nbtime 1795977631\n"})
    assert read("kernel", host).boot_time == 1795977631
    assert not any(path[-1] == "boot_time" for path in lasting("kernel"))
    tree(tmp_path, {"/proc/stat": "cpu 1 2 3\n"})
    assert read("kernel", host).boot_time == Gap("failed")


def test_what_may_not_be_read_is_denied_and_the_rest_is_there() -> None:
    section = read("kernel", Forbidding("/proc/modules", "/sys/kernel/debug", "/proc/sys/net"))
    assert section.modules == section.sched.preempt == section.sysctl.net.core.somaxconn == Gap("denied")
    assert section.sched.migration_cost_ns == Gap("denied")
    assert section.release == Path("/proc/sys/kernel/osrelease").read_text().strip()


def test_an_architecture_that_proc_does_not_tell_is_asked_of_uname() -> None:
    assert read("kernel", Forbidding("/proc/sys/kernel/arch")).machine == read("kernel", Host()).machine


def test_this_machine_is_up() -> None:
    kernel = read("kernel", Host())
    assert len(kernel.boot_id) == 36
    assert kernel.boot_time > 0
    assert kernel.clocksource.current in kernel.clocksource.available


def test_two_readings_of_this_machine_are_equal_in_what_lasts() -> None:
    with standing():
        assert changed(lasting("kernel"), lasting("kernel")) == set()
