"""The driver's libraries in user space, which must be of the module's version."""

from probes.driver.module import Module
from probes.kit.facts import Gap, Section, Seen, config, state, then
from probes.kit.host import Host
from probes.kit.knobs import word_tuple
from probes.kit.lazy import lazy_regex

# Where distributions, containers and WSL put them; the loader's cache knows more, and is in a format of its own.
FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64", "/usr/lib64/nvidia", "/usr/lib/x86_64-linux-gnu/nvidia/current",
)  # fmt: skip
HOPS = 4  # Debian's alternatives take three
PRELOAD = "/etc/ld.so.preload"
_VERSIONED = lazy_regex(r"\.so\.(\d+\.\d[\d.]*)$")


class Libraries(Section):
    nvml: Seen[str] = config(
        "A package upgrade replaces it at once, and the module only at the next load",
        "name behind the link libnvidia-ml.so.1",
        follows=("driver/module/version", "driver/libraries/match_module"),
    )
    cuda: Seen[str] = config(
        "What every CUDA program asks first: of another version than the module, it refuses to start",
        "name behind the link libcuda.so.1",
        follows=("driver/module/version", "driver/libraries/match_module"),
    )
    match_module: Seen[bool] = state(
        "False is a reboot that is pending: new processes get `Driver/library version mismatch`, old ones run on",
        "libnvidia-ml.so.1 and libcuda.so.1 against /proc/driver/nvidia/version",
        settled="always",
        follows=("driver/module/version",),
        restore="reboot # or unload the modules, with nothing on the GPUs, and load them",
    )
    preload: Seen[tuple[str, ...]] = config(
        "A library put into every process: those that share a GPU by this rewrite what NVML tells of memory",
        PRELOAD,
    )


def read_libraries(host: Host, module: Module) -> Libraries:
    nvml, cuda = _version(host, "libnvidia-ml.so.1"), _version(host, "libcuda.so.1")
    return Libraries(
        nvml=nvml,
        cuda=cuda,
        match_module=then(module.version, lambda version: _match(version, nvml, cuda)),
        preload=word_tuple(host, PRELOAD),
    )


def _match(module: str, *libraries: Seen[str]) -> Seen[bool]:
    """A library that is not there cannot be wrong; where none is, there is nothing to compare."""
    found = [version for version in libraries if not isinstance(version, Gap)]
    if not found:
        return Gap("not_observable", "no library of the driver in the usual folders")
    return all(version == module for version in found)


def _version(host: Host, name: str) -> Seen[str]:
    found: Seen[str] = Gap("absent", f"no {name} in the usual folders")
    for folder in FOLDERS:
        found = _behind(host, f"{folder}/{name}")
        if not (isinstance(found, Gap) and found.code == "absent"):
            break
    return found


def _behind(host: Host, path: str) -> Seen[str]:
    for _ in range(HOPS):
        if match := _VERSIONED.search(path):
            return match[1]
        target = host.link(path)
        if isinstance(target, Gap):
            return target
        path = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
    return Gap("failed", f"{path}: too many links, and none with a version")
