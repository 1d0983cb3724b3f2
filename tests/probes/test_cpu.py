"""The area cpu, on this machine, on recorded hosts and on small trees that stage one thing each."""

import os
from pathlib import Path
from typing import Any

import pytest

from fingerprint.sections import blob_of, leaves
from fingerprint.testing import Recorder, Replay, load
from probes.cpu import Cpu, cpu
from probes.kit.facts import Gap, Map, Seen
from probes.kit.host import Host
from probes.kit.probe import HOST

SYS = "sys/devices/system/cpu"
HOSTS = Path(__file__).parent.parent / "hosts"


def recorded(name: str) -> Cpu:
    return cpu.read(Replay(load(str(HOSTS / name))), HOST)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of two online CPUs and nothing else; its name is the root of a Host."""
    put(tmp_path, {f"{SYS}/online": "0-1\n"})
    return tmp_path


def put(root: Path, files: dict[str, object]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(str(content))


def read(root: Path) -> Cpu:
    return cpu.read(Host(root=str(root)), HOST)


def items(seen: Seen[Map[Any]]) -> dict[str, Any]:
    assert not isinstance(seen, Gap), seen
    return dict(seen.items)


def code(seen: object) -> str:
    assert isinstance(seen, Gap), seen
    return seen.code


def test_this_machine_is_read_as_the_kernel_tells_it() -> None:
    section = cpu.read(Host(), HOST)
    assert section.threads == os.sysconf("SC_NPROCESSORS_ONLN")
    assert isinstance(section.online, str)
    assert isinstance(section.cores, int)
    assert isinstance(section.threads, int)
    assert 1 <= section.cores <= section.threads


def test_two_readings_of_this_machine_differ_in_no_lasting_fact() -> None:
    assert blob_of(cpu.read(Host(), HOST)).digest == blob_of(cpu.read(Host(), HOST)).digest


def test_what_is_missing_on_a_live_machine_is_absent_and_in_a_tree_not_read(root: Path) -> None:
    live = cpu.read(Host(), HOST)
    if os.path.exists(f"/{SYS}/intel_pstate"):
        pytest.skip("this machine has intel_pstate")
    assert code(live.intel_pstate.no_turbo) == "absent"
    assert code(read(root).intel_pstate.no_turbo) == "not_read"


def test_no_fact_is_a_float() -> None:
    for folder in HOSTS.glob("*/recording.json"):
        for leaf in leaves(recorded(folder.parent.name)):
            assert not isinstance(leaf.value, float), leaf.names


# --- recorded hosts


def test_a_hybrid_intel_host_has_smt_on_some_cores_and_a_hint_on_each_policy() -> None:
    section = recorded("i7-1370p-hybrid-linux6.1-debian12")
    assert (section.threads, section.cores, section.smt.active) == (20, 14, True)
    policies = items(section.policies)
    assert list(policies)[:2] == ["policy0", "policy1"]
    assert {p.energy_performance_preference for p in policies.values()} == {"balance_performance"}
    assert {p.cpuinfo_max_freq for p in policies.values()} == {5000000, 5200000, 3900000}
    assert section.intel_pstate.no_turbo is False


def test_an_arm_host_with_two_kinds_of_cores_shows_each_with_its_caches() -> None:
    section = recorded("gb10-linux6.17-ubuntu2404")
    types = items(section.types)
    assert {name: kind.cpus for name, kind in types.items()} == {
        "0x41-0xd87": "0-4,10-14",
        "0x41-0xd85": "5-9,15-19",
    }
    assert items(section.caches)["L2.0x41-0xd85"].size == 2048
    assert section.scaling_driver == "cppc_cpufreq"
    assert section.boost is False
    assert section.nohz_full == ""  # printed as "(null)" by this kernel
    assert code(section.processor.hypervisor) == "not_observable"


def test_policies_of_old_kernels_stand_under_their_cpus_and_are_found_there() -> None:
    section = recorded("opteron-6134x4-powernow-k8")
    policies = items(section.policies)
    assert len(policies) == 32
    assert policies["policy31"].scaling_governor == "ondemand"
    assert section.scaling_driver == "powernow-k8"


def test_idle_states_carry_their_wake_up_time_and_are_summed_over_cpus() -> None:
    section = recorded("xeon-e7-4870x4-intel-idle")
    states = items(section.idle.states)
    assert {name: state.latency for name, state in states.items()} == {
        "C0": 0,
        "NHM-C1": 3,
        "NHM-C3": 20,
        "NHM-C6": 200,
    }
    assert section.offline == "40-79"
    assert len(items(section.packages)) == 4


# --- what one machine rarely has at once


def idle_state(cpu: int, number: int, disable: int, usage: int = 5) -> dict[str, object]:
    folder = f"{SYS}/cpu{cpu}/cpuidle/state{number}"
    return {
        f"{folder}/name": f"C{number}\n",
        f"{folder}/desc": "MWAIT 0x20\n",
        f"{folder}/latency": 10 * number,
        f"{folder}/residency": 30 * number,
        f"{folder}/disable": disable,
        f"{folder}/usage": usage,
    }


def test_an_idle_state_tells_on_which_cpus_it_is_disabled(root: Path) -> None:
    put(root, idle_state(0, 1, 0) | idle_state(0, 2, 1) | idle_state(1, 1, 0, 7) | idle_state(1, 2, 0))
    states = items(read(root).idle.states)
    assert {name: state.disabled_on for name, state in states.items()} == {"C1": "", "C2": "0"}
    assert states["C1"].usage == 12


def test_two_idle_states_of_one_name_are_both_kept(root: Path) -> None:
    put(root, idle_state(0, 1, 0) | idle_state(0, 2, 0) | idle_state(1, 1, 0) | idle_state(1, 2, 0))
    put(root, {f"{SYS}/cpu0/cpuidle/state2/name": "C1\n"})
    assert list(items(read(root).idle.states)) == ["C1", "state2"]


def test_only_cpus_with_a_resume_latency_limit_are_listed(root: Path) -> None:
    put(root, {f"{SYS}/cpu{n}/power/pm_qos_resume_latency_us": value for n, value in enumerate(("0\n", "n/a\n"))})
    assert items(read(root).idle.resume_latency_limits) == {"cpu1": "n/a"}


def policy(number: int, **files: object) -> dict[str, object]:
    given = {"scaling_driver": "acpi-cpufreq", "scaling_governor": "performance", "related_cpus": number} | files
    return {f"{SYS}/cpufreq/policy{number}/{name}": value for name, value in given.items()}


def test_a_set_speed_is_read_under_the_governor_userspace_only(root: Path) -> None:
    put(root, policy(0, scaling_setspeed="<unsupported>"))
    put(root, policy(1, scaling_governor="userspace", scaling_setspeed=1800000))
    policies = items(read(root).policies)
    assert code(policies["policy0"].scaling_setspeed) == "unsupported"
    assert policies["policy1"].scaling_setspeed == 1800000


def test_the_energy_bias_is_not_asked_where_the_newer_hint_is_in_force(root: Path) -> None:
    bias = {f"{SYS}/cpu{n}/power/energy_perf_bias": 6 for n in (0, 1)}
    put(root, bias | policy(0) | policy(1, energy_performance_preference="power"))
    first, second = items(read(root).policies).values()
    assert first.energy_perf_bias == 6
    # policy0 has no hint, so none is looked for on policy1: one driver gives all policies the same files.
    assert code(second.energy_performance_preference) == "not_read"


def test_cpus_that_share_a_policy_are_listed_with_it(root: Path) -> None:
    put(root, policy(0, related_cpus="0 1"))
    assert items(read(root).policies)["policy0"].related_cpus == "0-1"


def test_knobs_of_intel_pstate_are_unsupported_while_it_is_off(root: Path) -> None:
    put(root, {f"{SYS}/intel_pstate/status": "off\n", f"{SYS}/intel_pstate/no_turbo": "0\n"})
    assert code(read(root).intel_pstate.no_turbo) == "unsupported"


def test_a_package_counts_its_thermal_throttling(root: Path) -> None:
    for n in (0, 1):
        put(root, {f"{SYS}/cpu{n}/topology/core_siblings_list": n, f"{SYS}/cpu{n}/topology/physical_package_id": n})
    put(root, {f"{SYS}/cpu1/thermal_throttle/package_throttle_count": 34818})
    packages = items(read(root).packages)
    assert list(packages) == ["package0", "package1"]
    assert packages["package1"].throttle_count == 34818


def test_packages_without_a_number_are_named_by_their_first_cpu(root: Path) -> None:
    for n in (0, 1):
        put(root, {f"{SYS}/cpu{n}/topology/core_siblings_list": n, f"{SYS}/cpu{n}/topology/physical_package_id": -1})
    assert list(items(read(root).packages)) == ["cpu0", "cpu1"]


def test_groups_of_one_package_number_are_one_package(root: Path) -> None:
    for n in (0, 1):
        put(root, {f"{SYS}/cpu{n}/topology/core_siblings_list": n, f"{SYS}/cpu{n}/topology/physical_package_id": 0})
    assert {name: package.cpus for name, package in items(read(root).packages).items()} == {"package0": "0-1"}


def test_a_kernel_without_lists_of_cpus_is_read_by_its_masks(tmp_path: Path) -> None:
    for n, threads in enumerate(("00000000,00000003", "00000000,00000003", "00000000,0000000c", "00000000,0000000c")):
        put(tmp_path, {f"{SYS}/cpu{n}/topology/thread_siblings": threads, f"{SYS}/cpu{n}/topology/core_siblings": "f"})
        put(tmp_path, {f"{SYS}/cpu{n}/topology/physical_package_id": 0})
    put(tmp_path, {f"{SYS}/cpu4/online": 0, f"{SYS}/cpu0/cache/index0/shared_cpu_map": "3"})
    section = read(tmp_path)
    assert (section.online, section.threads, section.cores) == ("0-3", 4, 2)
    assert list(items(section.packages)) == ["package0"]
    assert items(section.caches)["index0"].shared_by == 2


def test_s390_tells_the_machine_type_in_a_line_of_its_own(root: Path) -> None:
    put(
        root,
        {"proc/cpuinfo": "vendor_id : IBM/S390\nprocessor 0: version = FF,  identification = 1,  machine = 8561\n"},
    )
    assert read(root).processor.model == "8561"


def test_a_hybrid_x86_host_is_told_apart_by_its_pmus(root: Path) -> None:
    put(root, {"sys/devices/cpu_core/cpus": "0\n", "sys/devices/cpu_atom/cpus": "1\n"})
    assert list(items(read(root).types)) == ["cpu_core", "cpu_atom"]


def test_power_and_uncore_limits_are_read_per_package(root: Path) -> None:
    zone = "sys/class/powercap/intel-rapl:0"
    uncore = f"{SYS}/intel_uncore_frequency/package_00_die_00"
    put(root, {f"{zone}/name": "package-0", f"{zone}/constraint_0_power_limit_uw": 350000000, f"{zone}/enabled": 1})
    put(root, {f"{zone}:0/name": "dram", f"{uncore}/min_freq_khz": 800000, f"{uncore}/max_freq_khz": 2400000})
    section = read(root)
    assert list(items(section.power_zones)) == ["intel-rapl:0"]
    assert items(section.power_zones)["intel-rapl:0"].constraint_0_power_limit_uw == 350000000
    assert items(section.uncore)["package_00_die_00"].min_freq_khz == 800000


def test_what_moves_by_itself_changes_no_lasting_fact(root: Path) -> None:
    moving: dict[str, object] = {
        f"{SYS}/cpufreq/policy0/scaling_cur_freq": 800000,
        f"{SYS}/cpu0/thermal_throttle/package_throttle_count": 1,
        f"{SYS}/cpu0/cpuidle/state1/usage": 1,
    }
    siblings = {f"{SYS}/cpu{n}/topology/core_siblings_list": "0-1" for n in (0, 1)}
    put(root, policy(0) | idle_state(0, 1, 0) | idle_state(1, 1, 0) | siblings | moving)
    before = read(root)
    put(root, dict.fromkeys(moving, 2400000))
    after = read(root)
    assert after != before
    assert blob_of(after).digest == blob_of(before).digest


DIALECTS = {
    "power": (
        "cpu\t\t: POWER9, altivec supported\nclock\t\t: 2300.0MHz\nrevision\t: 2.2\n",
        "POWER9, altivec supported",
        2300000,
    ),
    "s390": ("vendor_id       : IBM/S390\ncpu MHz dynamic : 5200\n", "absent", 5200000),
    "riscv": ("processor\t: 0\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n", "sifive,u74-mc", "not_observable"),
    "loongarch": ("Model Name\t\t: Loongson-3A5000\nCPU MHz\t: 2500.00\n", "Loongson-3A5000", 2500000),
}


@pytest.mark.parametrize(("text", "name", "khz"), DIALECTS.values(), ids=DIALECTS)
def test_cpuinfo_is_read_in_each_architectures_words(root: Path, text: str, name: str, khz: object) -> None:
    put(root, {"proc/cpuinfo": text})
    section = read(root)
    told = [v.code if isinstance(v, Gap) else v for v in (section.processor.model_name, section.frequency.highest)]
    assert told == [name, khz]


def test_flags_are_those_that_all_cpus_have_and_microcode_names_each_revision(root: Path) -> None:
    one = "processor\t: {}\nmicrocode\t: {}\nflags\t\t: {}\n\n"
    put(root, {"proc/cpuinfo": one.format(0, "0x2", "sse avx hypervisor") + one.format(1, "0x1", "hypervisor sse")})
    processor = read(root).processor
    assert processor.flags == ("hypervisor", "sse")
    assert processor.microcode == "0x1, 0x2"
    assert processor.hypervisor is True


def test_a_host_of_64_cpus_costs_under_1500_questions(root: Path) -> None:
    put(root, {f"{SYS}/online": "0-63\n"})
    for n in range(64):
        put(root, policy(n, energy_performance_preference="power", scaling_min_freq=1, scaling_max_freq=2))
        put(root, {f"{SYS}/cpu{n}/topology/thread_siblings_list": f"{n % 32},{n % 32 + 32}"})
        put(root, {f"{SYS}/cpu{n}/topology/core_siblings_list": "0-63"})
        for state in range(4):
            put(root, idle_state(n, state, 0))
    recorder = Recorder(Host(root=str(root)))
    section = cpu.read(recorder, HOST)
    assert (section.threads, section.cores, len(items(section.policies))) == (64, 32, 64)
    assert len(recorder.answers) < 1500
