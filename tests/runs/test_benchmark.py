"""Which commands history takes for one benchmark."""

from fingerprint.runs.benchmark import benchmark_of
from probes.kit.facts import Redacted


def test_a_secret_tells_no_two_benchmarks_apart_and_nothing_of_itself() -> None:
    one, other = (("bin/vllm", "serve", "--api-key", Redacted(key, "d")) for key in ("k", "another"))
    assert benchmark_of(one) == benchmark_of(other) != benchmark_of(one[:-1])


def test_a_temporary_path_tells_no_two_benchmarks_apart() -> None:
    assert benchmark_of(("sh", "/tmp/tmp.a1/run.sh")) == benchmark_of(("/bin/sh", "/tmp/tmp.b2/run.sh"))
    assert benchmark_of(("sh", "/srv/a.sh")) != benchmark_of(("sh", "/srv/b.sh"))
