"""What a real llama-server logs and answers to /metrics tells what it answered to each request."""

import urllib.request

import pytest

from fingerprint.metrics import formats
from fingerprint.metrics.source import Source
from tests.e2e.conftest import Cli
from tests.metrics.logs.texts import metrics
from tests.real.llama import ASKED, Llama, free_port, serving, told

pytestmark = pytest.mark.long
REQUESTS = 3


@pytest.mark.parametrize("drafts", [False, True])
def test_a_server_s_log_and_scrapes_tell_what_it_answered(llama: Llama, fingerprint: Cli, drafts: bool) -> None:
    port = free_port()
    model = str(llama.models["tiny"])
    drafting = ("-md", model, "--spec-type", "draft-simple", "--spec-draft-n-max", "4") if drafts else ()
    command = llama.command(port, "-m", model, "--threads", "1", "--parallel", "1", "--metrics", *drafting)
    with serving(fingerprint, command, port):
        before = scraped(port)
        answers = [told(port, "/completion", ASKED)["timings"] for _ in range(REQUESTS)]
        scrapes = formats.read(Source("metrics.prom", before + scraped(port)))
    logged = metrics(formats.read(Source("server.log", (fingerprint.home / "output").read_bytes())))
    speeds = [answer["predicted_per_second"] for answer in answers]
    assert logged["generation_throughput"].samples == pytest.approx(speeds, rel=0.001)
    assert logged["tokens"].samples == tuple(answer["predicted_n"] for answer in answers)
    assert ("acceptance_length" in logged) == drafts
    if drafts:
        shares = [answer["draft_n_accepted"] / answer["draft_n"] for answer in answers]
        assert logged["draft_acceptance_rate"].samples == pytest.approx(shares)
        length = metrics(scrapes)["acceptance_length"].samples[0]
        assert logged["acceptance_length"].samples[-1] == pytest.approx(length, abs=0.1)
    assert metrics(scrapes)["generation_tokens"].samples == (sum(answer["predicted_n"] for answer in answers),)


def scraped(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text: bytes = answer.read()
    return text
