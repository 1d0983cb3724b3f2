"""What ran and on how many GPUs: what the program does not read, and talk between GPUs where there is one."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest

from fingerprint.explain import explain
from fingerprint.explain.circumstances import UNKNOWN, Circumstances, circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.machine import Machine
from fingerprint.explain.mechanisms import rules_of
from fingerprint.explain.mechanisms.graph import Reader
from fingerprint.explain.programs import Programs
from fingerprint.explain.subject import Subject
from fingerprint.explain.unread import unread_by
from fingerprint.explain.weights import ALONE, THROUGH, UNREAD
from fingerprint.metrics import Metric
from fingerprint.runs.record import Distribution, Growth, Measured
from fingerprint.runs.record import Process as Recorded
from fingerprint.snapshot import reading_of
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kernel.modules import Module
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.flags import flags
from probes.kit.paths import parse_path
from probes.libraries.sections import Libraries, Package
from probes.mapped.sections import Mapped
from probes.process import Process
from probes.process.sections import Interpreter, Program
from probes.storage.sections import Model, Mount, Storage
from tests.explain.subjects import START, on_host, reading, subject

SERVER, BENCHMARK, SCRIPT = "/opt/venv/bin/vllm", "/usr/bin/all_reduce_perf", "/home/u/train.py"
LAUNCHER = "/usr/bin/srun"
TRITON = "/opt/tritonserver/bin/tritonserver"
NCCL, OF_VLLM, OF_SGLANG = "NCCL_ALGO", "VLLM_USE_BREAKABLE_CUDAGRAPH", "SGLANG_USE_AITER"


def program(path: str, **variables: str) -> Process:
    python = (
        Interpreter(path="/usr/bin/python3.12")
        if path not in (BENCHMARK, LAUNCHER, TRITON)
        else Interpreter(path=Gap("absent", "none"))
    )
    return Process(program=Program(path=path), interpreter=python, env=Map(dict(variables)))


def side(name: str, path: str, level: float, slots: Sequence[str] = (), **variables: str) -> Subject:
    working = {f"gpu/{slot}/busy": Distribution(100, 1.0, (1.0,) * 7) for slot in slots}
    return subject(name, None, program(path, **variables), *slow(level), samples=working)


def slow(level: float) -> list[Measured]:
    return [Measured(at=START, metric=Metric("decode_ms", "ms", "lower", (level, level + 0.1, level - 0.1), "test"))]


def ended(status: float) -> Measured:
    return Measured(at=START, metric=Metric("exit_status", "", "lower", (status,), "test"))


def suspect(path: str, variable: str, slots: Sequence[str] = ()) -> Suspect:
    a, b = side("A", path, 11.0, slots, **{variable: "0"}), side("B", path, 15.0, slots, **{variable: "1"})
    (found,) = explain(a, b).suspects
    return found


@pytest.mark.parametrize(("slots", "part"), [(("17",), ALONE), (("17", "2a"), None), ((), None)])
def test_what_gpus_say_to_each_other_counts_less_where_one_was_seen(slots: Sequence[str], part: float | None) -> None:
    """Of none it is not known how many there are."""
    found = suspect(SCRIPT, NCCL, slots)
    assert found.parts.get("alone") == part
    assert found.likelihood == "possible"


@pytest.mark.parametrize(
    ("path", "given", "part"),
    [
        (SERVER, (), ALONE),
        (SERVER, ("-tp", "2"), None),
        (SERVER, ("--config", "served.yaml"), None),
        (SCRIPT, (), None),
    ],
)
def test_of_two_gpus_an_engine_uses_one_unless_it_was_told_of_more(
    path: str, given: Sequence[str], part: float | None
) -> None:
    two = {f"gpu/{slot}/busy": Distribution(100, 1.0, (1.0,) * 7) for slot in ("17", "2a")}

    def ran(name: str, level: float, value: str) -> Subject:
        task = msgspec.structs.replace(program(path, **{NCCL: value}), flags=flags(given).flags)
        return subject(name, None, task, *slow(level), samples=two)

    (found,) = explain(ran("A", 11.0, "0"), ran("B", 15.0, "1")).suspects
    assert found.parts.get("alone") == part


@pytest.mark.parametrize(("beside", "alone"), [(SERVER, True), (SCRIPT, False)])
def test_a_second_program_whose_ranks_nobody_knows_may_use_the_other_gpus(beside: str, alone: bool) -> None:
    two = {f"gpu/{slot}/busy": Distribution(100, 1.0, (1.0,) * 7) for slot in ("17", "2a")}
    read = Recorded(at=START, area="process", target="worker", reading=reading_of(program(beside)))
    a, b = (subject(name, None, program(SERVER), *records, samples=two) for name, *records in (("A",), ("B", read)))
    assert circumstances(a, b).on.gpus == 2
    assert circumstances(a, b).is_alone is alone


@pytest.mark.parametrize(
    ("gpus", "ranks", "spans", "alone"),
    [
        (1, 1, False, True),
        (1, 2, True, False),
        (1, None, None, True),
        (0, 8, None, True),
        (8, 8, False, False),
        (8, 1, False, False),
        (8, 16, True, False),
        (None, 16, None, False),
        (None, None, None, False),
    ],
)
def test_more_ranks_than_gpus_are_on_several_hosts_and_then_no_gpu_is_alone(
    gpus: int | None, ranks: int | None, spans: bool | None, alone: bool
) -> None:
    """Of a host without GPUs nobody can say what its ranks run on."""
    around = Circumstances(ran=Programs(ranks=ranks), on=Machine(gpus=gpus))
    assert around.spans_hosts is spans
    assert around.is_alone is alone


@pytest.mark.parametrize(("module", "part"), [("sglang.bench_serving", ALONE), ("sglang.launch_server", None)])
def test_what_a_client_is_told_of_talk_between_gpus_the_ranks_of_its_server_are_not(
    module: str, part: float | None
) -> None:
    def ran(name: str, level: float, value: str) -> Subject:
        task = msgspec.structs.replace(program(SCRIPT, **{NCCL: value}), flags=flags(("-m", module, "-tp", "2")).flags)
        return subject(name, None, task, *slow(level))

    (found,) = explain(ran("A", 11.0, "0"), ran("B", 15.0, "1")).suspects
    assert found.parts.get("alone") == part


@pytest.mark.parametrize(("given", "part"), [((), ALONE), (("-tp", "2"), None)])
def test_one_gpu_and_another_hosts_talk_where_there_are_more_ranks(given: Sequence[str], part: float | None) -> None:
    def ran(name: str, level: float, value: str) -> Subject:
        task = msgspec.structs.replace(program(SERVER, **{NCCL: value}), flags=flags(given).flags)
        return subject(name, None, task, *slow(level), samples={"gpu/17/busy": Distribution(9, 1.0, (1.0,) * 7)})

    (found,) = explain(ran("A", 11.0, "0"), ran("B", 15.0, "1")).suspects
    assert found.parts.get("alone") == part


@pytest.mark.parametrize(
    ("engines", "by_layer"), [({"llama.cpp"}, True), ({"vllm"}, False), ({"llama.cpp", "vllm"}, False), ((), False)]
)
def test_llama_cpp_alone_splits_a_model_by_layer(engines: Iterable[Reader], by_layer: bool) -> None:
    assert Circumstances(ran=Programs(engines=frozenset(engines))).by_layer is by_layer


@pytest.mark.parametrize(("module", "gpus"), [("nvme", 0), ("amdgpu", None)])
def test_a_host_without_any_gpu_is_told_from_one_that_has_those_of_another_maker(module: str, gpus: int | None) -> None:
    none = subject("A", Gpus(gpus=Gap("absent", "no driver")), area="gpu", samples={})
    kernel = subject("A", Kernel(modules=Map({module: Module()})), area="kernel", samples={})
    sections = {**none.state.sections, **kernel.state.sections}
    host = msgspec.structs.replace(none, state=msgspec.structs.replace(none.state, sections=sections))
    assert circumstances(host, host).on.gpus == gpus
    assert circumstances(none, none).on.gpus is None, "nobody read which modules are loaded"
    assert circumstances(subject("A", samples={}), subject("B", samples={})) == UNKNOWN


@pytest.mark.parametrize(
    ("path", "variable", "other"),
    [
        (SERVER, OF_VLLM, ""),
        (SERVER, OF_SGLANG, "vllm"),
        (BENCHMARK, OF_VLLM, "all_reduce_perf"),
        (SCRIPT, OF_VLLM, ""),
        (LAUNCHER, OF_VLLM, ""),
        (SCRIPT, NCCL, ""),
    ],
)
def test_a_variable_that_the_program_does_not_read_is_unlikely(path: str, variable: str, other: str) -> None:
    """A script may import anything."""
    found = suspect(path, variable)
    assert (found.likelihood, found.parts.get("unread")) == (("unlikely", UNREAD) if other else ("possible", None))
    assert [one.says for one in found.against] == (
        [f"what ran is {other}, which is not known to use it"] if other else []
    )


def test_one_rank_alone_has_nobody_to_say_anything_to() -> None:
    """A script may divide its work by itself, and what measures a collective has somebody."""
    assert [one.says for one in suspect(SERVER, NCCL).against] == ["one rank alone has nobody to say anything to"]
    assert suspect(SERVER, NCCL).likelihood == "unlikely"
    assert not suspect(SCRIPT, NCCL, ("17",)).against
    assert not suspect(SERVER, "OMP_NUM_THREADS").against


@pytest.mark.parametrize(("busy", "is_idle"), [((0.0, 0.0), True), ((0.0, 0.4), False)])
def test_what_is_of_a_gpu_that_did_no_work_moved_nothing(busy: tuple[float, float], is_idle: bool) -> None:
    """But it may end a run that has to open it, and of what was not sampled nobody knows."""

    def card(name: str, share: float, limit: int, *numbers: Measured) -> Subject:
        used = {"17": 90.0, "2a": share}
        sampled = {f"gpu/{slot}/utilization/gpu": Distribution(100, at, (at,) * 7) for slot, at in used.items()}
        gpus = Gpus(gpus=Map({"17": Gpu(power_limit=300), "2a": Gpu(power_limit=limit)}))
        return on_host(subject(name, None, program(SCRIPT), *numbers, samples=sampled), gpu=gpus)

    (found,) = explain(card("A", busy[0], 300, *slow(11.0)), card("B", busy[1], 150, *slow(15.0))).suspects
    told = [one.says for one in found.against]
    assert (told, found.likelihood) == (
        (["no work ran on this GPU in either run"], "unlikely") if is_idle else ([], "possible")
    )
    (found,) = explain(card("A", busy[0], 300, ended(0)), card("B", busy[1], 150, ended(1))).suspects
    assert not any("no work" in one.says for one in found.against)


@pytest.mark.parametrize(("path", "is_read"), [(BENCHMARK, False), (SERVER, True), (SCRIPT, True), (LAUNCHER, True)])
def test_a_variable_of_pythons_does_nothing_to_a_program_that_no_interpreter_runs(path: str, is_read: bool) -> None:
    found = suspect(path, "PYTHONUNBUFFERED")
    says = "what ran is all_reduce_perf, which no interpreter runs"
    assert [one.says for one in found.against] == ([] if is_read else [says])


def test_a_module_and_a_verb_name_the_engine_as_its_program_does() -> None:
    python = Interpreter(path="/usr/bin/python3")
    launched = Process(interpreter=python, flags=Map({"-m": ("sglang.launch_server",)}))
    found = circumstances(subject("A", None, launched), subject("B", None, launched))
    assert found.ran.engines == {"sglang"}
    assert found.ran.compiled == set()


def test_an_environment_is_looked_through_where_its_packages_were_compared() -> None:
    here, there = (Process(interpreter=Interpreter(environment=path)) for path in ("/opt/a", "/opt/b"))
    packages = reading_of(Libraries(packages=Map({"torch": Package(version="2.8.0")})))
    read = Recorded(at=START, area="libraries", target="main", reading=packages)
    whole = explain(subject("A", None, here, *slow(11), read), subject("B", None, there, *slow(15), read)).suspects[0]
    alone = explain(subject("A", None, here, *slow(11)), subject("B", None, there, *slow(15))).suspects[0]
    assert (whole.likelihood, whole.parts["through"]) == ("unlikely", THROUGH)
    assert whole.against[-1].says == "what it holds was compared itself: libraries"
    assert (alone.likelihood, alone.against) == ("possible", ())


@pytest.mark.parametrize(("parameter", "heeded"), [("amd_iommu", False), ("intel_iommu", True), ("iommu", True)])
def test_a_parameter_for_processors_of_another_maker_is_told_to_be_that(parameter: str, heeded: bool) -> None:
    around = Circumstances(on=Machine(cpus=frozenset(("GenuineIntel",))))
    path = parse_path(f"kernel/cmdline/{parameter}")
    told = unread_by(path, rules_of(path), around)
    says = "it is for processors of AuthenticAMD and HygonGenuine, and these are of GenuineIntel"
    assert told == ("" if heeded else says)
    assert not unread_by(path, rules_of(path), UNKNOWN), "nobody knows whose processors these are"


@pytest.mark.parametrize(("share", "idle"), [(0.0, True), (0.9, False), (None, False)])
def test_gpus_that_work_for_a_server_are_not_idle_because_its_client_opened_none(
    share: float | None, idle: bool
) -> None:
    """Nor are those that nobody sampled."""
    client = reading_of(Mapped(devices=()))
    read = Recorded(at=START, area="mapped", target="main", reading=client)
    other = {"gpu/17/clocks/sm": Distribution(100, 1980, (1980,) * 7)}
    samples = other if share is None else {**other, "gpu/17/busy": Distribution(100, share, (share,) * 7)}
    a, b = (subject(name, None, program(SCRIPT), read, samples=samples) for name in "AB")
    assert circumstances(a, b).on.idle is idle


def test_a_module_of_the_host_may_serve_another_process_than_the_one_that_ran() -> None:
    around = Circumstances(ran=Programs(engines=frozenset(("llama.cpp",))))
    module, variable = (parse_path(text) for text in ("kernel/modules/nvidia_peermem", f"process/main/env/{OF_VLLM}"))
    assert unread_by(variable, rules_of(variable), around)
    assert not unread_by(module, rules_of(module), around)


@pytest.mark.parametrize("other", ["--api-key", "--allowed-origins", "--host", "--root-path"])
def test_of_flags_that_are_as_suspicious_what_usually_does_little_stands_last(other: str) -> None:
    """No number moved, and nothing else tells a batch from a key of the API; their letters do not."""
    values = [Process(flags=Map({"--max-num-seqs": (str(n),), other: (Redacted("k", str(n)),)})) for n in (16, 256)]
    a, b = (subject(name, None, task, samples={}) for name, task in zip("AB", values, strict=True))
    found = explain(a, b).suspects
    assert [one.facts[0] for one in found] == ["process/main/flags/--max-num-seqs", f"process/main/flags/{other}"]


@pytest.mark.parametrize(("kind", "is_against"), [("fuse.juicefs", False), ("xfs", True)])
def test_what_a_daemon_reads_for_a_run_no_counter_of_the_run_tells(kind: str, is_against: bool) -> None:
    still = {"usage/main/read_bytes": Growth(first=0, last=0, grown=0, seconds=10.0)}

    def mounted(name: str, level: float, ahead: int) -> Subject:
        at = Model(mount=Mount(type=kind, read_ahead_kb=ahead))
        storage = reading("storage", Storage(models=Map({"target": at})))
        loaded = Measured(at=START, metric=Metric("load_time", "s", "lower", (level, level + 0.1, level - 0.1), "test"))
        return subject(name, None, program(SERVER), loaded, storage, samples=still)

    (found,) = explain(mounted("A", 31.0, 16384), mounted("B", 96.0, 128)).suspects
    assert bool(found.against) is is_against
