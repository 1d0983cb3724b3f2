"""Flags of a server that stand in a file which its arguments name."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from probes import model
from probes.kit import configured as of_configured
from probes.kit.facts import Gap, Map
from probes.kit.host import Host
from probes.kit.probe import Target
from probes.kit.processes import began as began_at
from probes.kit.redact import Redactor
from probes.process import Process
from tests.probes.children import read, running
from tests.probes.test_model import checkpoint
from tests.probes.test_model import read as models_of


class Server:
    """Starts something that sleeps, by an engine's name, in a folder with a file of settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = Host(redactor=Redactor(b"k"))

    def argv(self, program: str, *words: str) -> Sequence[str]:
        file = self.folder / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("import time; time.sleep(60)")
        return (sys.executable, str(file), *words)

    def read(self, program: str, *words: str, text: str = "") -> Process:
        if text:
            (self.folder / "c.yaml").write_text(text)
        with running(self.argv(program, *words), cwd=self.folder) as pid:
            return read(self.host, pid)

    def models(self, program: str, *words: str, text: str) -> dict[str, object]:
        (self.folder / "c.yaml").write_text(text)
        with running(self.argv(program, *words), cwd=self.folder) as pid:
            return {role: one.path for role, one in models_of(self.host, pid).items()}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def items(process: Process) -> dict[str, object]:
    assert isinstance(process.flags, Map)
    return dict(process.flags.items)


@pytest.mark.parametrize("program", ["bin/vllm", "sglang/launch_server.py"])
def test_the_command_line_wins_over_the_file(program: str, server: Server) -> None:
    text = "model: /m\nmax_num_seqs: 64\nport: 1\nenable-metrics: true\nenforce-eager: false\nkv:\n  dtype: fp8\n"
    told = server.read(program, "serve", "--config", "c.yaml", "--port", "2", text=text)
    assert items(told) == {
        "--config": ("c.yaml",), "--port": ("2",), "--model": ("/m",), "--max-num-seqs": ("64",),
        "--enable-metrics": (), "--kv.dtype": ("fp8",),
    }  # fmt: skip
    assert told.configured == ("--enable-metrics", "--kv.dtype", "--max-num-seqs", "--model")


def test_of_tensorrt_llm_which_of_two_values_wins_is_not_told(server: Server) -> None:
    words = ("/m", "--max_batch_size", "8", "--tp_size=2", "--extra_llm_api_options", "c.yaml")
    text = "max_batch_size: 16\ntp_size: 2\nenable_attention_dp: false\n"
    told = items(server.read("trtllm-serve", *words, text=text))
    assert told["--max-batch-size"] == Gap("not_observable")
    assert (told["--tp-size"], told["--enable-attention-dp"]) == (("2",), ("false",))


def test_a_secret_in_the_file_is_redacted(server: Server) -> None:
    told = items(server.read("bin/vllm", "serve", "--config", "c.yaml", text="api-key: hunter2\n"))
    assert told["--api-key"] == (server.host.redactor.redacted("hunter2"),)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (os.mkfifo, "unsupported"),
        (lambda path: path.write_text("model: &anchor /m\n"), "failed"),
        (lambda path: path.write_text("#" * (257 << 10)), "failed"),
        (lambda path: path.symlink_to("/etc/shadow"), "failed"),
        (lambda path: None, "absent"),
    ],
    ids=["a FIFO", "another form", "too long", "somebody's secrets", "none"],
)
def test_a_file_that_cannot_be_read_is_a_gap(make: Callable[[Path], object], code: str, server: Server) -> None:
    make(server.folder / "c.yaml")
    with running(server.argv("bin/vllm", "serve", "--config=c.yaml"), cwd=server.folder) as pid:
        told = read(server.host, pid)
        assert isinstance(told.configured, Gap)
        assert told.configured.code == code or (code == "failed" and os.geteuid() != 0)
        assert items(told) == {"--config": ("c.yaml",)}
        assert model.read.read(server.host, Target("main", pid)).models == told.configured


@pytest.mark.parametrize("late", [0, 1], ids=["as it became the server", "later"])
def test_what_was_changed_after_the_server_read_it_is_not_what_it_has(late: int, server: Server) -> None:
    file = server.folder / "c.yaml"
    file.write_text("model: /m\n")
    began = file.stat().st_ctime_ns - of_configured.STARTING - late
    told = of_configured.configured(server.host, ("vllm", "serve", "--config", str(file)), "/", lambda: began)
    assert told == (Gap("not_observable") if late else of_configured.File({"--model": ("/m",)}))


def test_when_a_process_began_is_told_to_a_second_or_two() -> None:
    before = time.time_ns()
    with running(("sleep", "60")) as pid:
        assert before - 2 * 10**9 < began_at(Host(), pid) < time.time_ns() + 10**9  # type: ignore[operator]


@pytest.mark.parametrize("program", ["grep", "bin/vllm", "lmdeploy"])
def test_what_is_no_server_or_names_no_file_has_none(program: str, server: Server) -> None:
    words = ("serve",) if program == "bin/vllm" else ("--config", "c.yaml")
    assert server.read(program, *words, text="model: /m\n").configured == ()


def test_the_model_is_the_one_that_the_file_names_unless_an_operand_does(server: Server) -> None:
    one, other, draft = (checkpoint(server.folder / name) for name in ("one", "other", "draft"))
    text = f"model: {one}\nspeculative_config:\n  model: {draft}\n"
    assert server.models("bin/vllm", "serve", "--config", "c.yaml", text=text) == {
        "target": str(one), "draft": str(draft),
    }  # fmt: skip
    assert server.models("bin/vllm", "serve", str(other), "--config", "c.yaml", text=text)["target"] == str(other)
    text = f"speculative_config:\n  decoding_type: Eagle\n  speculative_model_dir: {draft}\n"
    told = server.models("trtllm-serve", str(one), "--extra_llm_api_options", "c.yaml", text=text)
    assert told == {"target": str(one), "draft": str(draft)}
