"""Files in which engines look for settings of their kernels, named after the model's shape and the GPU."""

import re
from collections.abc import Iterable, Iterator, Mapping

from probes.kit.facts import Gap, Map, Redacted, Seen, no_answer, seen_or, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.storage.sections import Tuned

GPUS = "/proc/driver/nvidia/gpus"
MOST = 256
_OF_DEVICE = lazy_regex(r"device_name=([^,]+?)(?:,|\.json$)")
_BY_VARIABLE = {"VLLM_TUNED_CONFIG_FOLDER": "", "SGLANG_MOE_CONFIG_DIR": "/configs"}
_IN_PACKAGES = {
    "vllm.fused_moe": "vllm/model_executor/layers/fused_moe/configs",
    "vllm.quantization": "vllm/model_executor/layers/quantization/utils/configs",
    "sglang.fused_moe": "sglang/srt/layers/moe/fused_moe_triton/configs",
    "sglang.moe_runner": "sglang/srt/layers/moe/moe_runner/triton_utils/configs",
    "sglang.quantization": "sglang/srt/layers/quantization/configs",
}
_OF_RELEASE = lazy_regex(r"triton_\d[\d_]*")


def gpus(host: Host) -> Seen[frozenset[str]]:
    """Names as they stand in those of files: blanks and slashes are `_`. To ask a GPU that sleeps would wake it."""
    addresses = host.names(GPUS)
    if isinstance(addresses, Gap):
        return Gap("absent", "no GPU of NVIDIA: no file is named after it")
    awake = [one for one in addresses if host.line(f"/sys/bus/pci/devices/{one}/power/runtime_status") == "active"]
    told = (host.matching(f"{GPUS}/{one}/information", r"^Model:[ \t]+(\S[^\n]*?)[ \t]*$") for one in awake)
    names = frozenset(re.sub(r"[\s/]+", "_", name) for found in told for name in seen_or(found, ()))
    return names or Gap("asleep", "to ask a GPU for its name would wake it")


def folders(files: Host, env: Mapping[str, str | Redacted], importing: Iterable[str]) -> Mapping[str, Seen[str]]:
    """importing: folders that packages are imported from, the first that holds one counts. One that a variable names
    and that is not there is told: the engine does without."""
    found: dict[str, Seen[str]] = dict(_named(env))
    silent: dict[str, Gap] = {}
    for home in importing:
        for key, below in _IN_PACKAGES.items():
            there = files.stat(f"{home}/{below}")
            if not isinstance(there, Gap):
                found.setdefault(key, f"{home}/{below}")
            elif gap := no_answer(there):
                silent[key] = gap
    return {**silent, **found}


def tuned(host: Host, files: Host, places: Mapping[str, Seen[str]]) -> Map[Tuned]:
    names: Seen[frozenset[str]] = gpus(host) if places else frozenset()
    return Map({key: Tuned(path=path, files=_of_gpus(files, path, names)) for key, path in places.items()})


def _named(env: Mapping[str, str | Redacted]) -> Iterator[tuple[str, Seen[str]]]:
    for name, below in _BY_VARIABLE.items():
        if value := env.get(name):
            clear = isinstance(value, str) and value.startswith("/")
            yield name, f"{value}{below}" if clear else Gap("not_observable", f"{name} is relative, or was redacted")


def _of_gpus(files: Host, path: Seen[str], names: Seen[frozenset[str]]) -> Seen[Map[Seen[str]]]:
    return then(names, lambda known: then(path, lambda folder: _below(files, folder, known)))


def _below(files: Host, path: str, names: frozenset[str]) -> Seen[Map[Seen[str]]]:
    listed = files.names(path)
    if isinstance(listed, Gap):
        return listed
    releases = [name for name in listed if _OF_RELEASE.fullmatch(name)]
    below = (f"{release}/{name}" for release in releases for name in seen_or(files.names(f"{path}/{release}"), ()))
    wanted = [name for name in (*listed, *below) if _is_for(name, names)]
    if len(wanted) > MOST:
        return Gap("failed", f"{len(wanted)} files for this GPU, of which at most {MOST} are read")
    return Map({name: files.sha256(f"{path}/{name}") for name in wanted})


def _is_for(file: str, names: frozenset[str]) -> bool:
    """vLLM takes the files of an NVIDIA_H200 for all that is one: NVIDIA_H200_NVL."""
    match = _OF_DEVICE.search(file)
    return match is not None and any(f"{gpu}_".startswith(f"{match[1]}_") for gpu in names)
