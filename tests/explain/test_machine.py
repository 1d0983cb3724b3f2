"""What it ran on: which GPUs and how many, what joins them, and whose processors."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fingerprint.explain import Subject
from fingerprint.explain.circumstances import circumstances
from fingerprint.explain.machine import Machine
from fingerprint.runs.effective import Samples
from fingerprint.runs.record import Distribution, Growth
from fingerprint.runs.record import Process as Recorded
from fingerprint.snapshot import Reading
from probes.container.sections import Container
from probes.cpu import Cpu
from probes.cpu.processor import Processor
from probes.gpu import Gpu, Gpus
from probes.kernel import Kernel
from probes.kernel.modules import Module
from probes.kit.facts import Gap, GapCode, Map, Section, Seen
from probes.mapped.sections import Mapped
from probes.network import Network
from probes.network.rdma import Device
from probes.pcie.sections import Gpu as OnBus
from probes.pcie.sections import Pcie
from probes.process import Process
from probes.storage.sections import Cache, Mount, Storage
from probes.storage.sections import Model as StoredModel
from tests.explain.subjects import START, on_host, reading, subject

H200, A100 = "NVIDIA H200", "NVIDIA A100"
BUSY, IDLE = (Distribution(100, share, (share,) * 7) for share in (0.9, 0.0))
NONE = Gpus(gpus=Map({}))


def cards(*names: str) -> Gpus:
    return Gpus(gpus=Map({str(n): Gpu(name=name) for n, name in enumerate(names)}))


def host(samples: Samples | None = None, **areas: Section) -> Subject:
    return on_host(subject("A", samples=samples or {}), **areas)


def found(a: Subject, b: Subject | None = None) -> Machine:
    return circumstances(a, b or a).on


def test_of_a_host_that_nobody_read_nothing_is_known() -> None:
    assert found(host()) == Machine()


def test_gpus_are_those_that_were_sampled_else_those_that_were_read() -> None:
    sampled = {"gpu/0/busy": BUSY, "gpu/0/temperature": BUSY}
    assert found(host(gpu=cards(H200, H200))).gpus == 2
    assert found(host(sampled, gpu=cards(H200, H200))).gpus == 1
    assert found(host(gpu=cards(H200)), host(gpu=cards(H200, H200, H200))).gpus == 3, "the most of either run"


def test_gpus_of_another_maker_are_counted_on_the_bus_and_have_no_products() -> None:
    amd = Kernel(modules=Map({"amdgpu": Module()}))
    bus = Pcie(gpus=Map({slot: OnBus() for slot in ("03", "43")}))
    on = found(host(gpu=NONE, kernel=amd, pcie=bus))
    assert (on.gpus, on.products) == (2, frozenset())
    assert found(host(gpu=NONE, kernel=amd)).gpus is None, "nobody read the bus"
    assert found(host(gpu=NONE, kernel=Kernel(modules=Map({})), pcie=bus)).gpus == 0, "a display adapter"


def test_products_and_makers_are_those_of_both_runs() -> None:
    intel, amd = (Cpu(processor=Processor(vendor=maker)) for maker in ("GenuineIntel", "AuthenticAMD"))
    on = found(host(gpu=cards(H200), cpu=intel), host(gpu=cards(A100, H200), cpu=amd))
    assert on.products == {H200, A100}
    assert on.cpus == {"GenuineIntel", "AuthenticAMD"}
    unnamed = Gpus(gpus=Map({"0": Gpu(name=Gap("denied", "no"))}))
    assert found(host(gpu=unnamed, cpu=Cpu())) == Machine(gpus=1)
    assert found(host(gpu=cards(H200)), host(gpu=unnamed)).products is None, "it may be another"


@pytest.mark.parametrize(
    ("why", "gpus", "products"), [("absent", 0, frozenset()), ("not_read", None, None), ("timeout", None, None)]
)
def test_what_could_not_be_read_may_be_there(why: GapCode, gpus: int | None, products: frozenset[str] | None) -> None:
    """NVML that did not answer, or was not to be asked, is no host without a GPU."""
    gap = Gap(why, "")
    on = found(host(gpu=Gpus(gpus=gap), kernel=Kernel(modules=Map({})), network=Network(rdma=gap)))
    assert (on.gpus, on.products, on.adapters) == (gpus, products, gpus)


@pytest.mark.parametrize(
    ("module", "device", "is_known"),
    [("ext4", "/dev/nvme0", True), ("nvgpu", "/dev/null", False), ("ext4", "/dev/nvhost-gpu", False)],
)
def test_gpus_of_nvidia_for_which_no_nvml_answers_are_told_by_driver_and_device(
    module: str, device: str, is_known: bool
) -> None:
    side = subject("A", None, None, reading("mapped", Mapped(devices=(device,))), samples={})
    on = found(on_host(side, gpu=NONE, kernel=Kernel(modules=Map({module: Module()}))))
    assert on.products == (frozenset() if is_known else None)


@pytest.mark.parametrize(
    ("rdma", "adapters"),
    [(Map({"mlx5_0": Device(), "mlx5_1": Device()}), 2), (Map({}), 0), (Gap("absent", "no class"), 0)],
)
def test_a_host_without_an_adapter_is_told_from_one_of_which_nobody_knows(
    rdma: Seen[Map[Device]], adapters: int
) -> None:
    assert found(host(network=Network(rdma=rdma))).adapters == adapters
    assert found(host()).adapters is None


@pytest.mark.parametrize(
    ("counters", "linked"),
    [
        (("gpu/0/nvlink/data_rx", "gpu/0/pcie/rx_bytes"), True),
        (("gpu/0/pcie/rx_bytes",), False),
        (("gpu/0/busy",), None),
    ],
)
def test_nvlink_is_there_where_its_counters_are_and_not_where_those_of_pcie_alone_are(
    counters: Sequence[str], linked: bool | None
) -> None:
    there = host({counter: Growth(0, 9, 9, 1.0) for counter in counters})
    assert found(there).linked is linked
    assert found(host(), there).linked is linked


@pytest.mark.parametrize(
    ("devices", "busy", "idle"),
    [
        ((), IDLE, True),
        (("/dev/infiniband/uverbs0",), IDLE, True),
        (("/dev/nvidia3",), IDLE, False),
        (("/dev/kfd",), IDLE, False),
        (("/dev/dri/renderD128",), IDLE, False),
        (Gap("denied", "of another user"), IDLE, False),
        ((), BUSY, False),
        ((), Growth(0, 9, 9, 1.0), False),
    ],
)
def test_gpus_had_no_part_in_it_where_every_process_was_seen_to_open_none_and_none_worked(
    devices: Seen[tuple[str, ...]], busy: Distribution | Growth, idle: bool
) -> None:
    ran = [
        subject(name, None, None, reading("mapped", Mapped(devices=opened)), samples={"gpu/0/busy": busy})
        for name, opened in (("A", ()), ("B", devices))
    ]
    assert found(*ran).idle is idle
    assert found(*ran).elsewhere is (busy != IDLE)


def test_without_any_gpu_none_had_a_part_in_it_unless_nobody_saw_what_was_opened() -> None:
    none = {"gpu": NONE, "kernel": Kernel(modules=Map({}))}
    opened_none = subject("A", None, None, reading("mapped", Mapped(devices=())), samples={})
    assert found(on_host(opened_none, **none)).idle
    assert not found(on_host(subject("A", samples={}), **none)).idle
    assert not found(opened_none).idle, "nobody knows how many there are"


DENIED = Gap("denied", "of another user")


def container(runtime: Seen[str], namespaces: Seen[tuple[str, ...]] = (), target: str = "main") -> Recorded:
    return reading("container", Container(runtime=runtime, namespaces=namespaces), target)


@pytest.mark.parametrize(
    ("runtimes", "contained"),
    [
        (("none", "none"), False),
        (("none", "docker"), True),
        (("docker", "docker"), True),
        (("unknown", "none"), True),
        (("none", DENIED), None),
        ((DENIED, DENIED), None),
        (("docker", DENIED), True),
    ],
)
def test_a_process_was_in_a_container_where_any_was_and_in_none_where_each_is_known_to_be_outside(
    runtimes: Sequence[Seen[str]], contained: bool | None
) -> None:
    ran = [subject("A", None, None, container(one)) for one in runtimes]
    assert found(*ran).contained is contained
    workers = [container(one, target=target) for one, target in zip(runtimes, "xy", strict=True)]
    assert found(subject("A", None, None, *workers)).contained is contained


def test_of_runs_or_workers_of_which_one_was_not_read_nobody_knows_whether_all_were_outside() -> None:
    outside, worker = container("none"), reading("process", Process(), "w")
    read, unread = subject("A", None, None, outside), subject("B", None, None)
    assert found(read, read).contained is False
    assert found(read, unread).contained is None
    assert found(subject("A", None, None, outside, worker)).contained is None


@pytest.mark.parametrize("namespaces", [("mnt", "user"), ("net",), DENIED])
def test_a_process_with_namespaces_of_its_own_may_be_in_a_container_that_left_no_other_trace(
    namespaces: Seen[tuple[str, ...]],
) -> None:
    """As enroot's and Apptainer's may be."""
    apart, outside = (subject("A", None, None, container("none", of)) for of in (namespaces, ()))
    assert found(apart).contained is None
    assert found(apart, outside).contained is None
    assert found(apart, subject("A", None, None, container("docker", namespaces))).contained is True


def test_where_no_container_was_read_nobody_knows_whether_there_is_one() -> None:
    lost = Recorded(at=START, area="container", target="main", reading=Reading("timed_out"))
    assert found(host()).contained is None
    assert found(subject("A", None, None, lost)).contained is None


@pytest.mark.parametrize(
    ("a", "b", "unused"),
    [
        ({"0": BUSY, "1": IDLE}, {"0": BUSY, "1": IDLE}, {"1"}),
        ({"0": BUSY, "1": IDLE}, {"0": BUSY, "1": BUSY}, set()),
        ({"0": BUSY, "1": IDLE}, {"0": BUSY}, set()),
        ({"0": IDLE, "1": IDLE}, {"0": BUSY, "1": IDLE}, set()),
        ({}, {}, set()),
    ],
)
def test_a_gpu_is_unused_where_others_worked_in_both_runs(
    a: dict[str, Distribution], b: dict[str, Distribution], unused: set[str]
) -> None:
    """Where none worked, and of what one run did not sample, nobody knows."""
    sides = (host({f"gpu/{slot}/utilization/gpu": sample for slot, sample in used.items()}) for used in (a, b))
    assert found(*sides).unused == unused


def test_a_gpu_that_worked_in_an_earlier_start_or_seldom_is_not_unused() -> None:
    def used(share: float) -> Subject:
        return host({"gpu/0/utilization/gpu": BUSY, "gpu/1/utilization/gpu": Distribution(100, share, (share,) * 7)})

    assert found(used(0.0)).unused == {"1"}
    assert found(replace(used(0.0), earlier=(used(0.9).state,)), used(0.0)).unused == set()
    assert found(used(0.17), used(0.0)).unused == set()
    quiet = {"gpu/0/busy": BUSY, "gpu/1/busy": IDLE}
    assert found(host(quiet)).unused == set(), "which is less than busy may have worked"


@pytest.mark.parametrize(
    ("kind", "is_fuse"), [("fuse.juicefs", True), ("fuseblk", True), ("xfs", False), (Gap("denied", "no"), False)]
)
def test_what_a_file_system_in_user_space_holds_is_told(kind: Seen[str], is_fuse: bool) -> None:
    read = reading("storage", Storage(models=Map({"target": StoredModel(mount=Mount(type=kind))})))
    cached = reading("storage", Storage(caches=Map({"triton": Cache(mount=Mount(type=kind))})))
    assert found(subject("A", None, None, read, samples={})).fuse == ({("models", "target")} if is_fuse else set())
    assert found(subject("A", None, None, cached, samples={})).fuse == ({("caches", "triton")} if is_fuse else set())


def test_a_bus_whose_drivers_nobody_could_read_is_mixed_with_none() -> None:
    unread = Pcie(gpus=Map({"03": OnBus(driver=Gap("absent", "none"))}))
    assert not found(host(gpu=cards(H200), pcie=unread)).mixed
    assert found(host(gpu=cards(H200), pcie=Pcie(gpus=Map({"03": OnBus(driver="amdgpu")})))).mixed
