"""What nothing that is there heeds: a file of another engine or GPU, a variable or module of other GPUs."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject, explain
from fingerprint.explain.circumstances import Circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.machine import Machine
from fingerprint.explain.programs import Programs
from fingerprint.explain.unread import unread_by
from fingerprint.explain.weights import UNREAD
from probes.container.sections import Container
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kernel.modules import Module
from probes.kit.facts import Gap, Map, Section, Seen
from probes.kit.paths import parse_path
from probes.pcie.sections import Gpu as OnBus
from probes.pcie.sections import Pcie
from probes.process import Process
from probes.process.sections import Interpreter
from probes.storage.sections import Storage, Tuned
from tests.explain.subjects import on_host, reading, subject
from tests.explain.test_circumstances import BENCHMARK, SCRIPT, SERVER, TRITON, program, slow
from tests.runs.recorded import measured

NO_GPUS = {"gpu": Gpus(gpus=Map({})), "kernel": Kernel(modules=Map({}))}
H200, H200_NVL = ({"gpu": Gpus(gpus=Map({"17": Gpu(name=name)}))} for name in ("NVIDIA H200", "NVIDIA H200 NVL"))


def only(a: Subject, b: Subject) -> Suspect:
    (found,) = explain(a, b).suspects
    return found


def against(found: Suspect) -> list[str]:
    assert (found.parts.get("unread") == UNREAD) is (found.likelihood == "unlikely") is bool(found.against)
    return [one.says for one in found.against]


def side(name: str, level: float, path: str, tuned: str, files: dict[str, str], **areas: Section) -> Subject:
    storage = Storage(tuned=Map({tuned: Tuned(files=Map(dict(files)))}))
    return on_host(subject(name, None, program(path), *slow(level), reading("storage", storage)), **areas)


def of_file(path: str, tuned: str, file: str, **areas: Section) -> Suspect:
    """A file of tuned kernels that was another in each run."""
    ran = (("A", 11.0, "1f"), ("B", 15.0, "2e"))
    a, b = (side(name, level, path, tuned, {file: digest}, **areas) for name, level, digest in ran)
    return only(a, b)


@pytest.mark.parametrize(
    ("path", "tuned", "says"),
    [
        (SERVER, "vllm.fused_moe", ""),
        (SERVER, "VLLM_TUNED_CONFIG_FOLDER", ""),
        (SERVER, "sglang.fused_moe", "what ran is vllm, and these are kernels of sglang"),
        (SERVER, "SGLANG_MOE_CONFIG_DIR", "what ran is vllm, and these are kernels of sglang"),
        (SCRIPT, "sglang.fused_moe", ""),
        (BENCHMARK, "sglang.fused_moe", "what ran is all_reduce_perf, and these are kernels of sglang"),
        (BENCHMARK, "triton.cache", ""),
        (TRITON, "vllm.fused_moe", ""),
    ],
)
def test_kernels_that_another_engine_would_load_moved_nothing(path: str, tuned: str, says: str) -> None:
    """A script may import those of any engine; and what is no engine's, any program may."""
    assert against(of_file(path, tuned, "E=8,N=1,device_name=NVIDIA_H200.json")) == ([says] if says else [])


@pytest.mark.parametrize(
    ("device", "areas", "there"),
    [
        ("NVIDIA_H200", H200, ""),
        ("NVIDIA_H200", H200_NVL, ""),
        ("NVIDIA_H200_MIG_1g.18gb", H200, ""),
        ("NVIDIA_H20", H200_NVL, "NVIDIA H200 NVL"),
        ("NVIDIA_A100", H200, "NVIDIA H200"),
        ("NVIDIA_A100", NO_GPUS, "none of NVIDIA's"),
        ("AMD_Instinct_MI300X", H200, "NVIDIA H200"),
        ("AMD_Instinct_MI300X", NO_GPUS, ""),
        ("NVIDIA_A100", {}, ""),
        ("", H200, ""),
    ],
)
def test_kernels_that_were_tuned_for_another_gpu_moved_nothing(
    device: str, areas: dict[str, Section], there: str
) -> None:
    """Where nobody read which ones there are, it may be one of these."""
    file = f"E=8,N=1,device_name={device},dtype=fp8_w8a8.json" if device else "E=8,N=1.json"
    says = f"it is for GPUs called {device.replace('_', ' ')}, and these are {there}"
    assert against(of_file(SERVER, "vllm.fused_moe", file, **areas)) == ([says] if there else [])


@pytest.mark.parametrize(
    ("variable", "of_nvidia"),
    [
        ("CUDA_LAUNCH_BLOCKING", True),
        ("NVIDIA_TF32_OVERRIDE", True),
        ("CUBLAS_WORKSPACE_CONFIG", True),
        ("NVSHMEM_DISABLE_P2P", True),
        ("CUDA_VISIBLE_DEVICES", False),
        ("NVIDIA_VISIBLE_DEVICES", False),
        ("OMP_NUM_THREADS", False),
    ],
)
def test_variables_of_nvidias_libraries_move_nothing_without_its_gpus(variable: str, of_nvidia: bool) -> None:
    """Which devices are visible others read as well."""

    def found(**areas: Section) -> Suspect:
        ran = (("A", 11.0, "0"), ("B", 15.0, "1"))
        sides = (subject(name, None, program(SCRIPT, **{variable: value}), *slow(at)) for name, at, value in ran)
        a, b = (on_host(one, **areas) for one in sides)
        return only(a, b)

    says = ["it is for GPUs of NVIDIA, and none was there"] if of_nvidia else []
    assert against(found(**NO_GPUS)) == says
    assert against(found(**H200)) == against(found()) == []


@pytest.mark.parametrize(
    ("products", "there"),
    [
        (("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"), "NVIDIA A100-SXM4-80GB"),
        (("NVIDIA GeForce RTX 4090", "NVIDIA L40S"), "NVIDIA GeForce RTX 4090, NVIDIA L40S"),
        (("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"), ""),
        (("NVIDIA H20", "NVIDIA H20"), ""),
        (("NVIDIA B200", "NVIDIA B200"), ""),
        (("NVIDIA GB300", "NVIDIA GB300"), ""),
        (("NVIDIA Graphics Device",), ""),
        (("NVIDIA VR200",), ""),
        (("NVIDIA H100 PCIe",), ""),
        (("NVIDIA H200 NVL",), ""),
        (("NVIDIA GH200 480GB",), ""),
        (("Tesla V100-SXM2-32GB",), "Tesla V100-SXM2-32GB"),
        (("NVIDIA A30",), "NVIDIA A30"),
        (("NVIDIA GB10",), "NVIDIA GB10"),
        (("Quadro RTX 8000",), "Quadro RTX 8000"),
        (("NVIDIA RTX PRO 6000 Blackwell Server Edition",), "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
    ],
)
def test_switches_before_hoppers_reduce_nothing_whatever_a_variable_says(products: tuple[str, ...], there: str) -> None:
    """Those that nobody knows may be later ones."""
    gpus = Gpus(gpus=Map({f"{slot}": Gpu(name=name) for slot, name in enumerate(products)}))
    says = [f"it is for NVSwitches from Hopper's on, and the GPUs are {there}"] if there else []
    a, b = (
        on_host(subject(name, None, program(SCRIPT, NCCL_NVLS_ENABLE=value), *slow(level)), gpu=gpus)
        for name, level, value in (("A", 11.0, "0"), ("B", 15.0, "1"))
    )
    assert against(only(a, b)) == says


def test_of_the_gpus_of_other_hosts_nobody_knows_what_their_switches_do() -> None:
    path, spread = parse_path("process/main/env/NCCL_NVLS_ENABLE"), Programs(hosts=2)
    here = Machine(gpus=8, products=frozenset(("NVIDIA A100-SXM4-80GB",)))
    assert unread_by(path, (), Circumstances(on=here))
    assert not unread_by(path, (), Circumstances(on=here, ran=spread))
    assert not unread_by(path, (), Circumstances(on=Machine(gpus=8)))


STARTS = "it is read when a container starts, and no process was in one"


def of_variable(variable: str, task: Process, container: Container | None) -> Suspect:
    """A variable of a program that was another in each run."""
    ran = (("A", 11.0, "0"), ("B", 15.0, "1"))
    read = () if container is None else (reading("container", container),)
    a, b = (
        subject(name, None, replace(task, env=Map({variable: value})), measured("wall_time", level), *read)
        for name, level, value in ran
    )
    return only(a, b)


@pytest.mark.parametrize(
    ("variable", "runtime", "moved"),
    [
        ("NVIDIA_DRIVER_CAPABILITIES", "none", False),
        ("NVIDIA_REQUIRE_CUDA", "none", False),
        ("NVIDIA_REQUIRE_ANYTHING", "none", False),
        ("NVIDIA_DISABLE_REQUIRE", "none", False),
        ("NVIDIA_IMEX_CHANNELS", "none", False),
        ("NVIDIA_GDS", "none", False),
        ("NVIDIA_DRIVER_CAPABILITIES", "docker", True),
        ("NVIDIA_REQUIRE_CUDA", "unknown", True),
        ("NVIDIA_DRIVER_CAPABILITIES", Gap("denied", "of another user"), True),
        ("NVIDIA_REQUIRE_CUDA", None, True),
        ("NVIDIA_VISIBLE_DEVICES", "none", True),
        ("NVIDIA_TF32_OVERRIDE", "none", True),
        ("NVIDIA_GDS_ANYTHING", "none", True),
    ],
)
def test_what_is_read_when_a_container_starts_moved_nothing_outside_of_one(
    variable: str, runtime: Seen[str] | None, moved: bool
) -> None:
    """Which devices are visible other programs read as well, and CUDA the rest."""
    read = None if runtime is None else Container(runtime=runtime, namespaces=())
    assert against(of_variable(variable, program(SCRIPT), read)) == ([] if moved else [STARTS])


@pytest.mark.parametrize(
    ("name", "moved"),
    [*((name, True) for name in ("docker", "podman", "srun", "enroot", "apptainer", "mpirun")), ("wrk", False)],
)
def test_what_was_started_elsewhere_may_be_in_a_container_that_nobody_saw(name: str, moved: bool) -> None:
    task = replace(program(f"/usr/bin/{name}"), interpreter=Interpreter(path=Gap("absent", "none")))
    found = of_variable("NVIDIA_DRIVER_CAPABILITIES", task, Container(runtime="none", namespaces=()))
    assert against(found) == ([] if moved else [STARTS])


def test_one_run_in_a_container_is_enough_for_what_its_start_reads() -> None:
    ran = (("A", 11.0, "0", "none"), ("B", 15.0, "1", "docker"))
    a, b = (
        subject(
            name,
            None,
            program(SCRIPT, NVIDIA_DRIVER_CAPABILITIES=value),
            measured("wall_time", level),
            reading("container", Container(runtime=runtime, namespaces=())),
        )
        for name, level, value, runtime in ran
    )
    every = {one.facts[0]: one for one in explain(a, b).suspects}
    assert against(every["process/main/env/NVIDIA_DRIVER_CAPABILITIES"]) == []


@pytest.mark.parametrize(
    ("module", "areas", "of_others"),
    [
        ("amdgpu", H200, True),
        ("amdgpu", {**H200, "pcie": Pcie(gpus=Map({"17": OnBus(driver="nvidia")}))}, True),
        ("amdgpu", {**H200, "pcie": Pcie(gpus=Map({"17": OnBus(driver="amdgpu")}))}, False),
        ("amdgpu", {}, False),
        ("amdgpu", NO_GPUS, False),
        ("nvidia", H200, False),
    ],
)
def test_the_driver_of_another_makers_gpus_moved_nothing_where_these_are_nvidias(
    module: str, areas: dict[str, Section], of_others: bool
) -> None:
    def loaded(name: str, level: float, version: str) -> Subject:
        kernel = Kernel(modules=Map({module: Module(version=version)}))
        return on_host(subject(name, None, program(SCRIPT), *slow(level)), **{**areas, "kernel": kernel})

    found = only(loaded("A", 11.0, "1"), loaded("B", 15.0, "2"))
    assert against(found) == (["the GPUs that were there are of another maker"] if of_others else [])


def test_of_modules_that_one_run_could_not_list_nobody_says_whose_they_are() -> None:
    around = Circumstances(on=Machine(gpus=1, products=frozenset(("NVIDIA H200",))))
    assert unread_by(parse_path("kernel/modules/amdgpu"), (), around)
    assert not unread_by(parse_path("kernel/modules"), (), around)


def test_one_line_for_several_modules_is_of_others_only_where_all_are() -> None:
    def loaded(name: str, level: float, modules: Sequence[str]) -> Subject:
        kernel = Kernel(modules=Map({module: Module(version="1") for module in modules}))
        return on_host(subject(name, None, program(SCRIPT), *slow(level)), **H200, kernel=kernel)

    for modules, is_idle in ((("amdgpu", "amdkfd"), True), (("amdgpu", "nvidia_peermem"), False)):
        found = only(loaded("A", 11.0, modules), loaded("B", 15.0, ()))
        assert bool(found.against) is is_idle
