"""Reads what llama.cpp's llama-bench prints: JSON, lines of JSON, CSV, or its table (Markdown).

Each test is of a model and its settings: pp512 a prompt of 512 tokens, tg128 the generation of 128, pp512+tg128 both in
turn, `@ d4096` behind so many tokens. `samples_ts` are the repetitions in tokens per second, in one process; the table
has their mean and deviation. https://github.com/ggml-org/llama.cpp/tree/master/tools/llama-bench
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fingerprint.metrics.clients.measured import Benchmark, Word, found, given
from fingerprint.metrics.clients.printed import cells, fields, plain
from fingerprint.metrics.found import Found, NothingRead
from fingerprint.metrics.metric import Metric, Summary
from fingerprint.metrics.values import condensed, sample, samples

CLIENT = "llama-bench"
# Of a record of JSON or CSV: what was asked. Whatever else describes the host stands in the run by itself.
_ASKED = (
    "backends", "model_type", "model_size", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers",
    "n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn", "devices", "tensor_split",
    "tensor_buft_overrides", "use_mmap", "use_direct_io", "load_mode", "lazy_mode", "embeddings", "cpu_mask",
    "cpu_strict", "poll", "no_op_offload", "no_host", "repack", "fit_target", "fit_min_ctx",
)  # fmt: skip
_TITLE = re.compile(r"^[ \t]*\| *model *\|.*\| *test *\| *t/s *\|", re.MULTILINE)
_RATE = re.compile(r"(?P<mean>[\d.]+|-?nan|-?inf)\s*(?:±\s*(?P<stdev>[\d.]+|-?nan))?")
_BUILD = re.compile(r"^build: (?P<commit>\S+) \((?P<number>\d+)\)", re.MULTILINE)
_BUILT = "build"
_PARTS = {"pp": "prompt_throughput", "tg": "throughput", "pg": "mixed_throughput"}


def recognises(record: Any) -> bool:
    return isinstance(record, dict) and {"n_prompt", "n_gen", "avg_ts"} <= record.keys()


def read(records: Sequence[Mapping[str, Any]]) -> Found:
    return _found(map(_benchmark, records))


def recognises_text(text: str) -> bool:
    return ("t/s" in text and _TITLE.search(text) is not None) or next(_csv(text), None) is not None


def read_text(text: str) -> Found:
    told = list(_csv(text))
    return read(told) if told else _found(_tables(text))


def _found(benchmarks: Iterable[Benchmark]) -> Found:
    """The build is no workload but what is measured, unless several were: then it tells their tests apart."""
    told = list(benchmarks)
    builds = list(dict.fromkeys(it.asked[_BUILT] for it in told if _BUILT in it.asked))
    if len(builds) < 2:
        told = [it._replace(asked={key: it.asked[key] for key in it.asked if key != _BUILT}) for it in told]
    return found(CLIENT, told, [f"llama-bench is of build {', '.join(builds)} of llama.cpp"] if builds else ())


def _benchmark(record: Mapping[str, Any]) -> Benchmark:
    prompt, generated, depth = (record.get(key) or 0 for key in ("n_prompt", "n_gen", "n_depth"))
    test = "+".join([f"pp{prompt}"] * bool(prompt) + [f"tg{generated}"] * bool(generated))
    name = f"{test} @ d{depth}" if depth else test
    asked = {key: record[key] for key in _ASKED if key in record}
    if record.get("build_commit"):
        asked[_BUILT] = f"{record['build_commit']} ({record.get('build_number', '?')})"
    return Benchmark(given(asked), [_metric(test, record)], name)


def _metric(test: str, record: Mapping[str, Any]) -> Metric:
    word, source, rates = _word(test), f"{CLIENT}, t/s", record.get("samples_ts")
    try:
        if isinstance(rates, list) and rates:
            values = samples(rates, word.name, word.unit)
            return condensed(Metric(word.name, word.unit, word.way, values, source, processes=(len(values),)))
        return _of_mean(record["avg_ts"], record.get("stddev_ts"), word, source)
    except NothingRead as error:
        return Metric(word.name, word.unit, word.way, source=source, gap=str(error))


def _word(test: str) -> Word:
    kind = "pg" if "+" in test else test[:2]
    return Word(_PARTS.get(kind, "mixed_throughput"), "tok/s", "higher")


def _of_mean(mean: Any, stdev: Any, word: Word, source: str) -> Metric:
    """stdev: None where it is not told."""
    middle = sample(mean, word.name, word.unit)
    spread = None if stdev is None else sample(stdev, f"the deviation of {word.name}", word.unit)
    told = Summary(mean=middle, stdev=spread)
    return Metric(word.name, word.unit, word.way, source=source, kind="summary", summary=told)


def _csv(text: str) -> Iterator[dict[str, Any]]:
    lines = text.splitlines() if "build_commit" in text else []
    begins = next((at for at, line in enumerate(lines) if line.startswith(("build_commit", '"build_commit'))), None)
    if begins is None:
        return
    heads = fields(lines[begins])
    for row in map(fields, lines[begins + 1 :]):
        if len(row) == len(heads) and recognises(told := dict(zip(heads, map(plain, row), strict=True))):
            yield told


def _tables(text: str) -> Iterator[Benchmark]:
    """The build is told behind each table, and is that of the ones before it."""
    begins = 0
    for build in (*_BUILD.finditer(text), None):
        told = {_BUILT: f"{build['commit']} ({build['number']})"} if build else {}
        yield from _rows(text[begins : build.start() if build else len(text)], told)
        begins = build.end() if build else len(text)


def _rows(text: str, build: Mapping[str, Any]) -> Iterator[Benchmark]:
    heads: Sequence[str] = ()
    for line in text.splitlines():
        if _TITLE.search(line):
            heads = cells(line)
        elif not line.lstrip().startswith("|"):
            heads = () if line.strip() else heads
        elif heads and line.strip(" |-:") and line.rstrip().endswith("|") and len(row := cells(line)) == len(heads):
            yield _of_row(dict(zip(heads, row, strict=True)), build)


def _of_row(row: dict[str, str], build: Mapping[str, Any]) -> Benchmark:
    test, rate = row.pop("test").replace("pp ", "pp").replace("tg ", "tg"), row.pop("t/s")
    word, source, told = _word(test.partition(" @")[0]), f"{CLIENT}, t/s", _RATE.fullmatch(rate)
    asked = {**build, **{name: plain(value) for name, value in row.items()}}
    if not told:
        return Benchmark(
            asked, [Metric(word.name, word.unit, word.way, source=source, gap=f"its rate is '{rate}'")], test
        )
    try:
        metric = _of_mean(plain(told["mean"]), plain(told["stdev"]) if told["stdev"] else None, word, source)
    except NothingRead as error:
        metric = Metric(word.name, word.unit, word.way, source=source, gap=str(error))
    return Benchmark(asked, [metric], test)
