"""Which models a process was told to serve, found as its engine finds them, told by small files and headers."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.kit.asked import Asked, asked
from probes.kit.facts import Document, Gap, Map, Redacted
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.kit.redact import Redactor
from probes.model import Model
from probes.model import read as probe
from probes.model.sections import Checkpoint
from tests.kit.standing_still import standing_still
from tests.kit.test_weights import gguf, safetensors
from tests.probes.children import running
from tests.probes.tree import Forbidding

PYTHON = "/opt/venv/bin/python"
COMMIT = "a" * 40
OTHER = "b" * 40


def read(host: Host, pid: int) -> Mapping[str, Checkpoint]:
    """As one that came through a strict decode."""
    section = decoder_of(Model)(msgspec.json.encode(probe.read(host, Target("main", pid))))
    assert isinstance(section.models, Map)
    return section.models.items


def served(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, host: Host | None = None
) -> Any:
    """The models of a real process with these arguments."""
    with running([sys.executable, "-c", "import time; time.sleep(60)", *arguments], env=env or {}, cwd=cwd) as pid:
        return read(host or Host(redactor=Redactor(b"k")), pid)


def checkpoint(folder: Path, **files: str) -> Path:
    """A model of two shards."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"config.json": '{"num_layers": 2}', "tokenizer.json": "{}", **files}.items():
        (folder / name).write_text(text)
    safetensors(folder / "model-00001-of-00002.safetensors", {"a": ("BF16", [2, 4])}, format="pt")
    safetensors(folder / "model-00002-of-00002.safetensors", {"b": ("F32", [4])})
    return folder


def cached(cache: Path, name: str, commit: str = COMMIT, branch: str = "main") -> Path:
    """A snapshot in the hub's cache, its files links to blobs as the hub's tools make them."""
    home = cache / f"models--{name.replace('/', '--')}"
    blobs = checkpoint(home / "blobs")
    snapshot = home / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir(exist_ok=True)
    (home / "refs" / branch).write_text(commit)
    for file in blobs.iterdir():
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    return snapshot


# Which models the arguments name.


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (
            "python -m sglang.launch_server --model-path /m --speculative-draft-model-path /d",
            {"target": "/m", "draft": "/d"},
        ),
        ("sglang serve --model=org/m --tokenizer-path /t", {"target": "org/m", "tokenizer": "/t"}),
        ("python /opt/venv/bin/vllm serve org/m --port 8000", {"target": "org/m"}),
        ("vllm serve --model org/m", {"target": "org/m"}),
        ("vllm serve --port 80 --trust-remote-code org/m --seed 1", {"target": "org/m"}),
        ("vllm serve --tensor_parallel_size 2 org/m", {"target": "org/m"}),
        ("vllm serve --no-enable-prefix-caching --seed=1 org/m", {"target": "org/m"}),
        ("vllm serve --served-model-name a b -- org/m", {"target": "org/m"}),
        ("vllm serve --served-model-name a b", {}),
        ("vllm serve /m --speculative-config.model /d -sc.revision r", {"target": "/m", "draft": "/d"}),
        ("python -m vllm.entrypoints.openai.api_server --model /m", {"target": "/m"}),
        ("trtllm-serve /m --tp_size 2", {"target": "/m"}),
        ("trtllm-serve serve /m --backend pytorch", {"target": "/m"}),
        ("trtllm-serve --backend pytorch /m", {"target": "/m"}),
        ("trtllm-serve disaggregated -c config.yaml", {}),
        ("lmdeploy serve api_server --tp 2 /m", {"target": "/m"}),
        ("lmdeploy serve api_server /m --tp 2", {"target": "/m"}),
        ("text-generation-server serve org/m --sharded", {"target": "org/m"}),
        ("text-generation-launcher --model-id org/m", {"target": "org/m"}),
        ("llama-server -m /m.gguf -md /d.gguf -ngl 99", {"target": "/m.gguf", "draft": "/d.gguf"}),
        ("llama-server -hf org/m:Q4_K_M", {"target": "org/m:Q4_K_M"}),
        ("ollama runner --ollama-engine --model /b/sha256-1 --port 1", {"target": "/b/sha256-1"}),
        ("python -m pytest -m long", {}),
        ("vllm bench latency", {}),
        ("vllm serve", {}),
        ("sglang::scheduler_TP0", {}),
        ("bash", {}),
    ],
)
def test_each_engine_names_its_models_in_its_own_way(argv: str, names: Mapping[str, str]) -> None:
    assert {role: one.name for role, one in asked(argv.split(), {}).items()} == names


def test_a_draft_is_named_in_vllms_json_too() -> None:
    config = json.dumps({"method": "eagle3", "model": "org/d", "num_speculative_tokens": 3, "revision": "r"})
    assert asked(["vllm", "serve", "/m", "--speculative-config", config], {})["draft"] == Asked("org/d", "r")
    assert "draft" not in asked(["vllm", "serve", "/m", "-sc", '{"method": "ngram"}'], {})
    assert "draft" not in asked(["vllm", "serve", "/m", "-sc", "{not JSON"], {})
    assert "draft" not in asked(["vllm", "serve", "/m", "-sc", "[" * 100_000], {})


def test_a_model_that_a_variable_names_counts_where_no_argument_does() -> None:
    env = {"LLAMA_ARG_MODEL": "/v.gguf"}
    assert asked(["llama-server"], env)["target"].name == "/v.gguf"
    assert asked(["llama-server", "-m", "/m.gguf"], env)["target"].name == "/m.gguf"


def test_the_last_of_two_flags_counts() -> None:
    assert asked(["x", "--model", "/a", "--model", "/b"], {})["target"].name == "/b"


# Where they are.


def test_a_folder_is_told_by_its_small_files_and_the_headers_of_its_shards(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m", **{"generation_config.json": '{"temperature": 0.6}', "model.py": "x = 1\n"})
    found = served("--model-path", str(folder))["target"]
    assert (found.name, found.path) == (str(folder), str(folder))
    assert found.configuration == Document({"num_layers": 2})
    assert found.generation_config == Document({"temperature": 0.6})
    assert found.quantization == found.revision == Gap("absent")
    assert found.files == Map({"model.py": digest(b"x = 1\n"), "tokenizer.json": digest(b"{}")})
    weights = found.weights
    assert (weights.format, weights.count, weights.parameters) == ("safetensors", 2, 12)
    assert weights.bytes == sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert weights.tensors == Map({"BF16": 1, "F32": 1})
    assert weights.metadata == Map({"format": "pt"})


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_of_a_model_whose_server_is_gone_each_fact_says_so_in_time(tmp_path: Path) -> None:
    with standing_still(tmp_path / "mounted") as mounted:
        began = time.monotonic()
        found = served("--model-path", str(mounted / "m"), "--speculative-draft-model-path", str(tmp_path / "d"))
        assert time.monotonic() - began < 4
    target = found["target"]
    assert target.path == target.configuration == target.weights.headers == Gap("timed_out")
    assert found["draft"].path == Gap("absent")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_name_of_the_hub_is_the_snapshot_that_its_branch_is_at(tmp_path: Path) -> None:
    snapshot = cached(tmp_path / "hub", "org/m")
    found = served("--model", "org/m", env={"HF_HOME": str(tmp_path)})["target"]
    assert (found.path, found.revision) == (str(snapshot), COMMIT)
    assert found.weights.count == 2
    assert found.configuration == Document({"num_layers": 2})


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
        ("HOME", ".cache/huggingface/hub"),
    ],
)
def test_the_cache_lies_where_the_hubs_tools_look(tmp_path: Path, variable: str, below: str) -> None:
    snapshot = cached(tmp_path / below, "m")
    assert served("--model", "m", env={variable: str(tmp_path)})["target"].path == str(snapshot)


def test_a_revision_that_is_asked_for_is_a_branch_or_a_commit(tmp_path: Path) -> None:
    cached(tmp_path, "org/m")
    second = cached(tmp_path, "org/m", OTHER, "fp8")
    for revision in ("fp8", OTHER):
        found = served("--model", "org/m", "--revision", revision, "--download-dir", str(tmp_path))["target"]
        assert (found.path, found.revision) == (str(second), OTHER)


def test_a_snapshot_named_by_its_path_and_a_folder_that_was_downloaded_tell_their_commit(tmp_path: Path) -> None:
    snapshot = cached(tmp_path / "hub", "org/m")
    assert served("--model", str(snapshot))["target"].revision == COMMIT
    folder = checkpoint(tmp_path / "m")
    (folder / ".cache/huggingface/download").mkdir(parents=True)
    (folder / ".cache/huggingface/download/config.json.metadata").write_text(f"{OTHER}\netag\n1.5\n")
    assert served("--model", str(folder))["target"].revision == OTHER


def test_a_relative_path_is_below_the_process_folder(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    assert served("--model", "./m", cwd=tmp_path)["target"].path == str(folder)


def test_a_link_that_leads_elsewhere_now_is_another_path(tmp_path: Path) -> None:
    link = tmp_path / "current"
    for name in ("one", "two"):
        checkpoint(tmp_path / name)
        link.unlink(missing_ok=True)
        link.symlink_to(name)
        found = served("--model", str(link))["target"]
        assert (found.name, found.path) == (str(link), str(tmp_path / name))


def test_a_file_of_the_hubs_cache_keeps_its_name_and_tells_its_commit(tmp_path: Path) -> None:
    snapshot = cached(tmp_path / "hub", "org/m")
    blob = gguf(tmp_path / "hub/models--org--m/blobs/sha", {}, {"t": (0, (1,))})
    (snapshot / "m.gguf").symlink_to(f"../../blobs/{blob.name}")
    found = served("--model", str(snapshot / "m.gguf"))["target"]
    assert (found.path, found.revision) == (str(snapshot / "m.gguf"), COMMIT)
    assert found.weights.format == "gguf"


def test_a_gguf_file_tells_all_itself_and_one_that_is_split_is_all_its_parts(tmp_path: Path) -> None:
    for part in (1, 2):
        gguf(tmp_path / f"m-0000{part}-of-00002.gguf", {}, {f"t{part}": (12, (256,))})
    gguf(tmp_path / "other.gguf", {}, {"t": (0, (1,))})
    found = served("--model", str(tmp_path / "m-00001-of-00002.gguf"))["target"].weights
    assert (found.format, found.count, found.parameters) == ("gguf", 2, 512)
    assert served("--model", str(tmp_path / "other.gguf"))["target"].weights.tensors == Map({"F32": 1})


# What is not there, or not to be trusted.


def test_a_model_that_is_nowhere_is_a_gap_in_each_fact_but_its_name() -> None:
    found = served("--model", "org/m", env={"HOME": "/nonexistent"})["target"]
    assert found.name == "org/m"
    assert found.path == found.revision == found.configuration == found.weights.format == Gap("absent")


def test_a_folder_without_weights_and_one_with_others(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert served("--model", str(tmp_path / "empty"))["target"].weights.count == Gap("absent")
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled/pytorch_model.bin").write_bytes(b"12345")
    weights = served("--model", str(tmp_path / "pickled"))["target"].weights
    assert (weights.format, weights.count, weights.bytes, weights.headers) == ("bin", 1, 5, Gap("unsupported"))


def test_one_broken_shard_makes_sums_a_gap_and_leaves_the_count(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"no header")
    weights = served("--model", str(folder))["target"].weights
    assert weights.parameters == weights.headers == Gap("failed")
    assert (weights.count, weights.format) == (2, "safetensors")


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, '{"a":' * 40 + "1" + "}" * 40, '{"a": NaN}'], ids=["cut", "endless", "deep", "NaN"]
)
def test_a_configuration_that_makes_no_sense_is_failed(tmp_path: Path, text: str) -> None:
    folder = checkpoint(tmp_path / "m", **{"config.json": text})
    assert served("--model", str(folder))["target"].configuration == Gap("failed")


def test_fifos_where_files_are_expected_are_gaps(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        os.mkfifo(folder / name)
    found = served("--model", str(folder))["target"]
    assert found.configuration == found.weights.headers == found.weights.bytes == Gap("unsupported")
    assert found.files == Map({"tokenizer.json": Gap("unsupported")})


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_a_folder_and_a_link_to_a_device_that_are_called_weights_have_no_size(tmp_path: Path, ending: str) -> None:
    folder = checkpoint(tmp_path / "m") if ending == "safetensors" else tmp_path / "m"
    folder.mkdir(exist_ok=True)
    (folder / f"model.{ending}").symlink_to("/dev/null")
    assert served("--model", str(folder))["target"].weights.bytes == Gap("unsupported")
    (folder / f"model.{ending}").unlink()
    (folder / f"model.{ending}").mkdir()
    assert served("--model", str(folder))["target"].weights.bytes == Gap("unsupported")


def test_secrets_leave_a_configuration_as_digests(tmp_path: Path) -> None:
    config: dict[str, object] = {"auth_token": "s3cret", "url": ["https://me:word@example.org/"], "vocab": "v"}
    config |= {"hub": {"api_key": {"value": "s3cret"}}, "https://me:word@example.org/": 1}
    found = served("--model", str(checkpoint(tmp_path / "m", **{"config.json": json.dumps(config)})))["target"]
    data = msgspec.json.encode(found)
    assert b"s3cret" not in data
    assert b"word" not in data
    assert isinstance(found.configuration, Document)
    assert found.configuration.value["vocab"] == "v"


def test_a_name_with_a_secret_is_a_digest_and_no_place() -> None:
    found = served("--model", "https://me:word@example.org/m")["target"]
    assert isinstance(found.name, Redacted)
    assert found.path == Gap("not_observable")


def test_what_is_denied_is_said_to_be(tmp_path: Path) -> None:
    folder = str(checkpoint(tmp_path / "m"))
    found = served("--model", folder, host=Forbidding(folder))["target"]
    assert found.path == found.configuration == Gap("denied")


def test_a_process_that_ended_tells_of_no_model() -> None:
    section = probe.read(Host(), Target("main", 2**22 + 1))
    assert isinstance(section.models, Gap)


def test_a_hundred_shards_take_no_more_than_their_headers(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    tensors = {f"layer.{at}.weight": ("BF16", [64, 64]) for at in range(200)}
    for at in range(100):
        os.truncate(safetensors(folder / f"shard-{at:03}.safetensors", tensors), 5 << 30)
    found = served("--model", str(folder))["target"].weights
    assert (found.count, found.parameters) == (102, 100 * 200 * 4096 + 12)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_model_is_read_where_the_process_sees_it(tmp_path: Path) -> None:
    """Another model is mounted over the folder, in the process's own mount namespace."""
    outside = checkpoint(tmp_path / "m")
    mounted = checkpoint(tmp_path / "mounted", **{"config.json": '{"num_layers": 99}'})
    start = (
        f"mount --bind {mounted} {outside} && exec {sys.executable} -c 'import time; time.sleep(60)' --model {outside}"
    )
    with running(["unshare", "--mount", "sh", "-c", start]) as pid:
        found = read(Host(redactor=Redactor(b"k")), pid)["target"]
    assert found.path == str(outside)
    assert found.configuration == Document({"num_layers": 99})
