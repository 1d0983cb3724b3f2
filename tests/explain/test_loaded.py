"""What runs had in memory: a package that differs and was never loaded moved nothing, nor did its variables."""

from collections.abc import Mapping, Sequence

import pytest

from fingerprint.explain import explain
from fingerprint.explain.circumstances import Circumstances, circumstances
from fingerprint.explain.contract import Suspect
from fingerprint.explain.loaded import MOST_FILES, Loaded
from fingerprint.explain.machine import Machine
from fingerprint.explain.programs import Programs
from fingerprint.explain.unread import unread_by
from fingerprint.explain.weights import UNREAD
from fingerprint.runs.record import AnyRecord
from probes.kit.facts import Gap, Map, Seen
from probes.kit.paths import parse_path
from probes.libraries.sections import Libraries, Package
from probes.mapped.sections import Library, Mapped
from probes.process import Process
from tests.explain.subjects import reading, subject
from tests.explain.test_circumstances import slow

NUMPY = {"libopenblas64": "pip numpy", "libc": "deb libc6"}
TORCH = {"libtorch_cpu": "pip torch", "libc": "deb libc6"}
SYSTEM = {"libc": "deb libc6"}
TENSORFLOW = {"libtensorflow_framework": "pip tensorflow", "libc": "deb libc6"}
OF_AWS = {"libtensorflow_framework": "pip tensorflow-cpu-aws"}
ONNX, CUDNN = {"libonnxruntime": "pip onnxruntime"}, {"libcudnn": "pip nvidia-cudnn-cu12"}
HAMI = {"libvgpu": "", "libc": "deb libc6"}
NO_CODE, NO_TORCH = (
    "no process had any of its machine code in memory",
    "no process had torch in memory, which it is used with",
)


def held(files: Mapping[str, str]) -> Mapped:
    return Mapped(libraries=Map({name: Library(path=f"/opt/{name}", owner=owner) for name, owner in files.items()}))


def package(name: str, *records: Sequence[AnyRecord]) -> Suspect:
    """Of which each run had another version; records: of the runs in which something was mapped."""
    sides = []
    for at, (run, level) in enumerate((("A", 11), ("B", 15))):
        read = reading("libraries", Libraries(packages=Map({name: Package(version=f"2.{level}")})))
        sides.append(subject(run, None, Process(), read, *slow(level), *records[at]))
    a, b = sides
    return next(one for one in explain(a, b).suspects if one.facts == (f"libraries/main/packages/{name}/version",))


def told(found: Suspect) -> list[str]:
    assert (found.parts.get("unread") == UNREAD) is (found.likelihood == "unlikely") is bool(found.against)
    return [one.says for one in found.against]


def mapped(files: Mapping[str, str]) -> Sequence[AnyRecord]:
    return (reading("mapped", held(files)),)


@pytest.mark.parametrize(
    ("name", "files", "says"),
    [
        ("torch", NUMPY, NO_CODE),
        ("torch", TORCH, ""),
        ("nvidia-nccl-cu12", TORCH, NO_CODE),
        ("triton", NUMPY, NO_TORCH),
        ("pytorch-triton-rocm", NUMPY, NO_TORCH),
        ("triton", TORCH, ""),
        ("flash-attn", NUMPY, NO_TORCH),
        ("accelerate", TENSORFLOW, NO_TORCH),
        ("transformers", NUMPY, ""),
        ("diffusers", ONNX, ""),
        ("tensorflow", OF_AWS, ""),
        ("tensorflow", NUMPY, NO_CODE),
        ("onnxruntime-gpu", ONNX, ""),
        ("onnxruntime-gpu", NUMPY, NO_CODE),
        ("nvidia-cublas-cu12", CUDNN, NO_CODE),
        ("nvidia-cudnn-cu12", CUDNN, ""),
        ("requests", NUMPY, ""),
        ("torch", SYSTEM, ""),
    ],
)
def test_a_package_that_no_process_had_in_memory_moved_nothing(name: str, files: Mapping[str, str], says: str) -> None:
    """Pure Python leaves no trace there, and transformers is used with tokenizers alone; and of what no package of pip
    owns a file of, one may be without RECORD."""
    assert told(package(name, mapped(files), mapped(files)))[-1:] == ([says] if says else [])


@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("torch", "/opt/conda/lib/libtorch_cpu.so", ""),
        ("vllm", "/src/vllm/vllm/_C.abi3.so", ""),
        ("sgl-kernel", "/src/sglang/sgl-kernel/build/common_ops.so", ""),
        ("triton", "/src/pytorch/torch/lib/libtorch.so", ""),
        ("nvidia-nccl-cu12", "/usr/local/lib/libnccl.so.2", NO_CODE),
        ("nvidia-nccl-cu12", "/opt/site-packages/nvidia/nccl/lib/libnccl.so.2", ""),
    ],
)
def test_what_was_built_from_source_no_package_lists(name: str, path: str, says: str) -> None:
    unowned = Library(path=path, owner=Gap("not_observable", "no package lists it"))
    files = Map({"libopenblas64": Library(owner="pip numpy"), "unowned": unowned})
    read = (reading("mapped", Mapped(libraries=files)),)
    assert told(package(name, read, read)) == ([says] if says else [])


@pytest.mark.parametrize(("program", "says"), [("/opt/venv/bin/vllm", ""), ("/opt/venv/bin/other", NO_CODE)])
def test_of_the_package_that_ran_its_python_code_is_used_whatever_is_mapped(program: str, says: str) -> None:
    """As vllm bench serve, which has nothing to compute."""
    around = Circumstances(
        ran=Programs(called=frozenset((program.rpartition("/")[2],))), loaded=Loaded(frozenset(("numpy",)), frozenset())
    )
    assert unread_by(parse_path("libraries/main/packages/vllm/version"), (), around) == says


def test_a_server_that_nobody_recorded_may_have_had_anything() -> None:
    """GPUs worked, and the client that was read opened none."""
    loaded = Loaded(frozenset(("numpy",)), frozenset())
    torch = parse_path("libraries/main/packages/torch/version")
    assert unread_by(torch, (), Circumstances(loaded=loaded)) == NO_CODE
    assert unread_by(torch, (), Circumstances(loaded=loaded, on=Machine(elsewhere=True))) == ""


def test_one_run_or_one_process_that_had_it_is_enough() -> None:
    assert told(package("torch", mapped(NUMPY), mapped(TORCH))) == []
    worker = (*mapped(NUMPY), reading("mapped", held(TORCH), "worker"))
    assert told(package("torch", worker, worker)) == []


@pytest.mark.parametrize("other", [(), (reading("mapped", Mapped(libraries=Gap("denied", "of another user"))),)])
def test_where_one_run_was_not_read_it_may_have_had_anything(other: Sequence[AnyRecord]) -> None:
    assert told(package("torch", mapped(NUMPY), other)) == []


def test_where_one_process_was_not_read_it_may_have_had_anything() -> None:
    worker = (*mapped(NUMPY), reading("process", Process(), "worker"))
    assert told(package("torch", worker, worker)) == []


@pytest.mark.parametrize(("more", "is_known"), [(MOST_FILES - 1, True), (MOST_FILES, False), (MOST_FILES + 1, False)])
def test_of_more_files_than_are_told_any_may_be_there(more: int, is_known: bool) -> None:
    read = mapped({f"lib{n}": "pip numpy" for n in range(more)})
    assert told(package("torch", read, read)) == ([NO_CODE] if is_known else [])


@pytest.mark.parametrize("owner", [Gap("absent", "no package"), "pip torch"])
def test_what_was_loaded_is_told_by_owner_and_by_name_without_version(owner: Seen[str]) -> None:
    file = reading("mapped", Mapped(libraries=Map({"libtorch": Library(owner=owner)})))
    a, b = (subject(name, None, Process(), file) for name in "AB")
    owners = frozenset(("torch",)) if isinstance(owner, str) else frozenset[str]()
    found = circumstances(a, b).loaded
    assert found is not None
    assert (found.packages, found.libraries) == (owners, frozenset(("libtorch",)))


# Variables.


@pytest.mark.parametrize(
    ("variable", "files", "reader"),
    [
        ("PYTORCH_CUDA_ALLOC_CONF", NUMPY, "torch"),
        ("TORCH_NUM_THREADS", NUMPY, "torch"),
        ("TORCHINDUCTOR_MAX_AUTOTUNE", NUMPY, "torch"),
        ("PYTORCH_CUDA_ALLOC_CONF", TORCH, ""),
        ("OPENBLAS_NUM_THREADS", TORCH, "openblas"),
        ("GOTO_NUM_THREADS", SYSTEM, "openblas"),
        ("OPENBLAS_NUM_THREADS", NUMPY, ""),
        ("OMP_NUM_THREADS", SYSTEM, ""),
        ("MKL_NUM_THREADS", SYSTEM, ""),
        ("CUDA_DISABLE_CONTROL", SYSTEM, "vgpu"),
        ("CUDA_DEVICE_MEMORY_LIMIT", TORCH, "vgpu"),
        ("CUDA_DEVICE_MEMORY_LIMIT_0", TORCH, "vgpu"),
        ("CUDA_DEVICE_SM_LIMIT", TORCH, "vgpu"),
        ("GPU_CORE_UTILIZATION_POLICY", TORCH, "vgpu"),
        ("CUDA_DISABLE_CONTROL", HAMI, ""),
        ("CUDA_DEVICE_MEMORY_LIMIT", HAMI, ""),
        ("CUDA_DEVICE_SM_LIMIT", HAMI, ""),
        ("GPU_CORE_UTILIZATION_POLICY", HAMI, ""),
        ("CUDA_LAUNCH_BLOCKING", SYSTEM, ""),
    ],
)
def test_a_variable_whose_library_no_process_had_in_memory_moved_nothing(
    variable: str, files: Mapping[str, str], reader: str
) -> None:
    """Who else reads them may have been linked into the program."""
    runs = (("A", 11, "4"), ("B", 15, "8"))
    a, b = (subject(n, None, Process(env=Map({variable: v})), *slow(m), *mapped(files)) for n, m, v in runs)
    (found,) = explain(a, b).suspects
    says = [f"no process had a library of {reader} in memory, which reads it"] if reader else []
    assert (found.facts, told(found)) == ((f"process/main/env/{variable}",), says)
