"""CUDA toolkits that are installed, and libraries of a newer driver that stand in for the installed one's."""

from collections.abc import Mapping

import msgspec

from probes.kit.facts import Gap, Map, Section, Seen, config, state, then
from probes.kit.filepaths import real
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

LOCAL = "/usr/local"
DEFAULT = f"{LOCAL}/cuda"
LOADER = "/etc/ld.so.conf.d"
MPS_PIPE = "/tmp/nvidia-mps/control"  # noqa: S108  # NVIDIA's default (CUDA_MPS_PIPE_DIRECTORY)
_TOOLKIT = lazy_regex(r"cuda-\d+(?:\.\d+)?")
_TEXT = lazy_regex(r"CUDA Version (\d[\d.]*)")
_LIBCUDA = lazy_regex(r"libcuda\.so\.(\d+\.\d[\d.]*)")
_COMPAT = r"^\s*(/[^#\s]*/compat(?:/[^#\s]*)?)\s*$"


class Toolkit(Section):
    version: Seen[str] = config(
        "Kernels that are compiled on this host are compiled by it: nvcc and ptxas differ from release to release",
        f"{LOCAL}/cuda-*/version.json, version.txt",
    )
    compat: Seen[str] = config(
        "Libraries of this newer driver for an older kernel module: a process that finds them first runs another "
        "compiler and another user-space driver than the host's",
        f"name of libcuda.so in {LOCAL}/cuda-*/compat",
    )


class Cuda(Section):
    default: Seen[str] = config(
        "Which toolkit a build finds that asks for none", f"where {DEFAULT} leads", follows=("platform/cuda/toolkits",)
    )
    toolkits: Seen[Map[Toolkit]] = config("The toolkits that builds on this host may find", f"{LOCAL}/cuda-*")
    compat_in_loader: Seen[tuple[str, ...]] = config(
        "Folders of a newer driver's libraries that every process is given, not only those whose LD_LIBRARY_PATH names "
        "them",
        f"{LOADER}/*.conf",
    )
    mps_pipe: Seen[bool] = state(
        "The pipe of MPS's control daemon: while it is there, each CUDA process tries to be its client; one that is "
        "left over of a daemon that ended makes them fail",
        MPS_PIPE,
        settled="always",
    )


def read_cuda(host: Host) -> Cuda:
    return Cuda(
        default=then(host.stat(DEFAULT), lambda _: real(host, DEFAULT)),
        toolkits=then(host.names(LOCAL), lambda names: _toolkits(host, names)),
        compat_in_loader=then(host.names(LOADER), lambda names: _compat_in_loader(host, names)),
        mps_pipe=_is_there(host, MPS_PIPE),
    )


def _is_there(host: Host, path: str) -> Seen[bool]:
    info = host.stat(path)
    return (False if info.code == "absent" else info) if isinstance(info, Gap) else True


def _toolkits(host: Host, names: tuple[str, ...]) -> Map[Toolkit]:
    """By release. `cuda-12` is a link beside `cuda-12.4`, and is left out."""
    found = (name for name in names if _TOOLKIT.fullmatch(name) and isinstance(host.link(f"{LOCAL}/{name}"), Gap))
    return Map({name.removeprefix("cuda-"): _toolkit(host, f"{LOCAL}/{name}") for name in found})


def _toolkit(host: Host, folder: str) -> Toolkit:
    """Since 11.1 `version.json`, before it `version.txt`."""
    told = host.text(f"{folder}/version.json")
    version = then(host.text(f"{folder}/version.txt"), _of_text) if isinstance(told, Gap) else then(told, _of_json)
    return Toolkit(version=version, compat=then(host.names(f"{folder}/compat"), _of_names))


def _of_json(text: str) -> str:
    told = msgspec.json.decode(text, type=Mapping[str, _Part])
    return told["cuda"].version


class _Part(msgspec.Struct):
    version: str


def _of_text(text: str) -> str:
    match = _TEXT.search(text)
    if match is None:
        raise ValueError(f"no version in {text[:80]!r}")
    return match[1]


def _of_names(names: tuple[str, ...]) -> Seen[str]:
    found = [match[1] for name in names if (match := _LIBCUDA.fullmatch(name))]
    return max(found) if found else Gap("absent", "no libcuda.so with a version in its name")


def _compat_in_loader(host: Host, names: tuple[str, ...]) -> Seen[tuple[str, ...]]:
    folders: list[str] = []
    for name in names:
        found = host.matching(f"{LOADER}/{name}", _COMPAT) if name.endswith(".conf") else ()
        if isinstance(found, Gap):
            return found
        folders.extend(found)
    return tuple(folders)
