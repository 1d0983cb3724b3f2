"""Benchmark clients as their projects publish them: what the newest prints is known, and one that runs is read."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fingerprint.metrics import Metric, formats
from fingerprint.metrics.clients.serving_text import blocks
from fingerprint.metrics.source import load
from tests.e2e.conftest import Cli
from tests.probes.environments import NO_VARIABLES
from tests.real.published import installed

pytestmark = pytest.mark.long

TITLE = " Serving Benchmark Result "
# What another line says too, or what is of embeddings, audio, images, diffusion and a second, probing client.
LEFT_OUT = {
    "Total input text tokens:", "Total input vision tokens:", "Total generated tokens (retokenized):",
    "Total prompt tokens:", "Total cached tokens:", "Cache hit rate:", "Input throughput (inputs/s):",
    "RTFx (Inverse Real-Time Factor):", "Probe requests completed:", "Probe requests failed:",
    "Median probe E2EL (ms):", "P99 probe E2EL (ms):", "Max probe E2EL (ms):", "Drafts:", "Draft tokens:",
    "Accepted tokens:", "Per-position acceptance (%):", "Denoising steps:", "Denoising steps per canvas:",
    "Canvas positions evaluated:", "Committed tokens:", "Committed per denoising step:",
    "Committed throughput (tok/s):",
}  # fmt: skip


@pytest.mark.parametrize(
    ("release", "source"),
    [("sglang==0.5.23", "sglang/benchmark/serving.py"), ("vllm==0.33.0", "vllm/benchmarks/serve.py")],
)
def test_each_line_that_the_newest_prints_is_read_or_left_out_knowingly(
    release: str, source: str, tmp_path: Path
) -> None:
    with installed(tmp_path / "venv", release) as environment:
        code = (environment.site / source).read_text()
    printed = set(re.findall(r'"([A-Z][^"{}]*:)"', code[code.index(TITLE) :].partition('print("=" * 50)')[0]))
    text = "\n".join([f"={TITLE}=", *(f"{label:<40} 1.5" for label in printed), "===="])
    (told,) = blocks(text, "Serving")
    unread = {label for label in printed if not list(blocks(f"={TITLE}=\n{label} 1.5\n", "Serving"))}
    assert len(told) > 10
    assert unread <= LEFT_OUT


class Server(BaseHTTPRequestHandler):
    """Answers each chat with 12 tokens, 10 ms apart, the first after 30 ms."""

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        time.sleep(0.03)
        for index in range(12):
            choice = {"index": 0, "delta": {"content": f" tok{index}"}, "finish_reason": None}
            chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.01)
        self.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"
tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(["?", *letters])}, unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.save(sys.argv[1])
"""


def test_what_aiperf_measured_is_the_same_in_all_that_it_writes(fingerprint: Cli, url: str, tmp_path: Path) -> None:
    with installed(tmp_path / "venv", "aiperf==0.13.0", dependencies=True) as environment:
        words = tmp_path / "words"
        words.mkdir()
        make = [str(environment.python), "-c", TOKENIZER, str(words / "tokenizer.json")]
        subprocess.run(make, env=NO_VARIABLES, check=True)
        (words / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?"}')
        client = environment.python.parent / "aiperf"
        asked = f"profile --model m --url {url} --endpoint-type chat --streaming --concurrency 2 --request-count 8 "
        asked += f"--synthetic-input-tokens-mean 20 --output-tokens-mean 12 --tokenizer {words} --artifact-dir out"
        done = fingerprint("run", "--name", "a", "--", str(client), *asked.split(), "--ui", "none")
    (tmp_path / "printed.txt").write_text(done.stdout)
    written = {name: _read(tmp_path / name) for name in (
        "out/profile_export_aiperf.json", "out/profile_export_aiperf.csv", "out/profile_export.jsonl",
        "out/profile_export_console.txt", "printed.txt",
    )}  # fmt: skip
    for name in ("ttft", "tpot", "e2e_latency", "output_throughput_per_user"):
        middles = [metrics[name].typical for metrics in written.values()]
        assert middles == pytest.approx([middles[0]] * len(middles), abs=0.006), name
    shown = json.loads(fingerprint("show", "a", "--format", "json").stdout)
    assert shown["metrics"]["ttft"]["summary"]["count"] == 8
    assert shown["workload"]["aiperf/concurrency"] == 2


def _read(path: Path) -> dict[str, Metric]:
    found = formats.read(load(str(path)))
    assert all(metric.source.startswith("aiperf, ") for metric in found.metrics)
    return {metric.name: metric for metric in found.metrics}
