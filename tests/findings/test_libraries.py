"""Machine code and packages that are not what they seem."""

from fingerprint.findings import Finding
from probes.kit.facts import Gap, Map
from probes.libraries.sections import Engine, Libraries, Package
from probes.mapped.sections import Library
from tests.findings.servers import RANKS, env, found, library, mapping, server, told

WHEEL = "/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
SYSTEM = "/usr/lib/x86_64-linux-gnu/libnccl.so.2"


def ranks_with(one: Library, **others: Library) -> tuple[Finding, ...]:
    mapped = {f"mapped/sglang-30000.{rank}": mapping(libnccl=others.get(rank, one)) for rank in RANKS}
    return found({**server(), **mapped})


def test_a_library_that_is_mapped_from_two_places() -> None:
    [finding] = ranks_with(library(WHEEL, "2.27.3", SYSTEM))
    assert finding.identity == ("library-mapped-twice", "libnccl")
    assert f"{WHEEL} (2.27.3), {SYSTEM} (2.21.5)" in finding.says
    assert "from 2 places in sglang-30000.tp0 and 7 more" in finding.says
    assert finding.facts[0] == "mapped/sglang-30000.tp0/libraries/libnccl/copies"
    assert finding.values["sglang-30000.tp3"] == [f"{WHEEL} (2.27.3)", f"{SYSTEM} (2.21.5)"]


def test_a_library_that_is_mapped_under_another_name_too() -> None:
    other = library("/opt/libnccl-2.21.so", "2.21.5", soname="libnccl.so.2")
    [finding] = found({"mapped/main": mapping(**{"libnccl": library(WHEEL), "libnccl-2.21": other})})
    assert finding.identity == ("library-mapped-twice", "libnccl")
    assert finding.values == {"main": [f"{WHEEL} (2.27.3)", "/opt/libnccl-2.21.so (2.21.5)"]}
    assert finding.facts == ("mapped/main/libraries/libnccl/copies", "mapped/main/libraries/libnccl-2.21/copies")
    plugin = library("/opt/libnccl-net.so", soname="libnccl-net.so.0")
    assert told({"mapped/main": mapping(**{"libnccl": library(WHEEL), "libnccl-net": plugin})}) == []


def test_one_rank_has_another_copy() -> None:
    [finding] = ranks_with(library(WHEEL), tp6=library(SYSTEM, "2.21.5"))
    assert finding.identity == ("library-unlike-other-ranks", "libnccl")
    assert finding.says.startswith(f"libnccl is {SYSTEM} (2.21.5), build unknown on tp6, {WHEEL} (2.27.3)")


def test_one_rank_started_before_the_file_was_replaced() -> None:
    [finding] = ranks_with(library(WHEEL, build_id="aa" * 20), tp0=library(WHEEL, build_id="bb" * 20, deleted=True))
    assert finding.says.startswith(f"libnccl is {WHEEL} (2.27.3), deleted, build bbbbbbbbbbbb on tp0")


def test_a_library_that_not_every_rank_needs_is_nothing_odd() -> None:
    mapped = {f"mapped/sglang-30000.{rank}": mapping(libnccl=library(WHEEL)) for rank in RANKS[:3]}
    assert told({**server(), **mapped}) == []


def test_the_deprecated_package() -> None:
    packages = Map({"nvidia-ml-py": Package(version="13.590.44"), "pynvml": Package(version="12.0.0")})
    [finding] = found({"libraries/main": Libraries(packages=packages)})
    assert finding.identity == ("package-deprecated", "pynvml")
    assert finding.facts == ("libraries/main/packages/pynvml/version",)
    assert finding.values == {"main": "12.0.0"}
    assert "pip uninstall pynvml" in finding.do


def unread(**unknown: str) -> Libraries:
    return Libraries(
        packages=Map({"vllm": Package(version="0.33.0")}),
        engines=Map({"vllm": Engine(listed=306, unknown=Map(unknown))}),
    )


def test_a_variable_that_no_line_of_the_engine_names() -> None:
    ranks = {rank: env(VLLM_USE_V2="1") for rank in RANKS}
    sections = server(ranks, "vllm-8000", "main")
    sections["process/main"] = env(VLLM_USE_V2="1")
    [finding] = found({**sections, "libraries/main": unread(VLLM_USE_V2="VLLM_USE_V1")})
    assert finding.identity == ("variable-not-read", "VLLM_USE_V2")
    assert finding.says == (
        "VLLM_USE_V2 is set in main, vllm-8000.tp0, vllm-8000.tp1 and 6 more, and no Python file of vllm 0.33.0 names "
        "it: it does nothing."
    )
    assert finding.do.startswith("Did you mean VLLM_USE_V1?")
    assert finding.facts[:2] == (
        "libraries/main/engines/vllm/unknown/VLLM_USE_V2",
        "process/main/env/VLLM_USE_V2",
    )


def test_a_variable_that_nothing_resembles() -> None:
    [finding] = found({"libraries/main": unread(VLLM_FOO="none")})
    assert finding.says == "VLLM_FOO is set, and no Python file of vllm 0.33.0 names it: it does nothing."
    assert finding.do.startswith("Look for it")


def test_an_environment_that_was_not_read_shows_nothing() -> None:
    gaps = dict.fromkeys(("packages", "engines"), Gap("timed_out"))
    assert told({"libraries/main": Libraries(**gaps), "mapped/main": mapping()}) == []
