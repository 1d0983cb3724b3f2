"""All that a run measured: before the command `expect`, after it `collect`."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isclose
from typing import NamedTuple

import msgspec

from fingerprint.metrics.found import Found, NothingRead, joined, printable
from fingerprint.metrics.metric import Metric
from fingerprint.metrics.results import KNOWN, OUTPUT, Candidate, result_files
from fingerprint.metrics.source import Source
from fingerprint.metrics.wanted import LONGEST_NAME, TAKEN, Wanted
from fingerprint.metrics.written import Before, before, followed, written
from fingerprint.trouble import Trouble

MOST = 1000  # metrics of a run
_ROUNDED = 0.001


class Output(NamedTuple):
    """What the command printed. cut: its beginning is missing."""

    data: bytes = b""
    cut: bool = False


class Expected(NamedTuple):
    """A result that is to be read after the run, and what its file was before it; of output there is no file.

    guessed: that it is one follows from the command's arguments alone, so it is no trouble if it is none.
    others: it is not the run's own command that writes it.
    """

    wanted: Wanted
    file: Before | None
    guessed: bool = False
    others: bool = False


def expect_of_others(all_wanted: Sequence[Wanted], since: int | None = None) -> tuple[Expected, ...]:
    """What `--metrics` wants of servers and clients that the run does not start itself. since: ns since 1970, when the
    run began, of which nobody knows how its files were then; None for now.

    Raises Trouble for output, which nobody hears.
    """
    if unheard := next((one for one in all_wanted if not one.file), None):
        raise Trouble(
            f"--metrics {unheard}: what a server or its client prints is not heard; name the file that it goes to, as "
            "in auto:server.log"
        )
    now = time.time_ns()
    files = (before(one.file, now) if since is None else Before(one.file, since) for one in all_wanted)
    return tuple(Expected(one, file, others=True) for one, file in zip(all_wanted, files, strict=True))


def expect(all_wanted: Sequence[Wanted], argv: Sequence[str]) -> tuple[Expected, ...]:
    """What `--metrics` wants, then the files that the command's own arguments name. Relative to the working directory.

    Raises Trouble where `auto` was wanted and the arguments name none.
    """
    now = time.time_ns()
    candidates = result_files(argv)
    if not candidates and (bare := next(filter(_is_bare, all_wanted), None)):
        raise Trouble(
            f"--metrics {bare}: the command's arguments name no result file (known are {KNOWN}); say auto:FILE"
        )
    named = [Expected(one, before(one.file, now) if one.file else None) for one in all_wanted if not _is_bare(one)]
    known = {os.path.realpath(one.file.path) for one in named if one.file}
    own = [
        Expected(_wanted(it), None if it.file == OUTPUT else before(it.file, now), it.guessed)
        for it in candidates
        if (os.path.realpath(it.file) not in known if it.file != OUTPUT else not _is_read(OUTPUT, named))
    ]
    return (*named, *own)


def _is_bare(wanted: Wanted) -> bool:
    return wanted.reader == "auto" and not wanted.argument


def _is_read(argument: str, expected: Sequence[Expected]) -> bool:
    return any(one.wanted.argument == argument for one in expected)


def _wanted(candidate: Candidate) -> Wanted:
    return Wanted("", "auto" if candidate.guessed else candidate.client, candidate.file)


def collect(expected: Sequence[Expected], output: Output, others: Mapping[str, str] | None = None) -> Found:
    """Raises for nothing that a file holds: what could not be read is among the troubles, and a metric whose name is
    known is there with its gap. Each metric has a name of its own. others: sources of those that the run has already;
    one that was measured in the same way is replaced."""
    return together((_one(one, output) for one in expected), others)


def together(parts: Iterable[Found], others: Mapping[str, str] | None = None) -> Found:
    """What several files of one run tell, each metric by a name of its own."""
    found = joined(parts)
    return _bounded(_distinct(found._replace(metrics=_told_once(found.metrics)), others or {}))


def _one(expected: Expected, output: Output) -> Found:
    wanted = expected.wanted
    files = (wanted.file,) if wanted.file else ()
    try:
        found = _read(expected, output)
        return _renamed(found._replace(remarks=tuple(map(printable, found.remarks)), files=files), wanted.prefix)
    except NothingRead as error:
        if expected.guessed:
            return Found()
        gap = (Metric(wanted.name, wanted.unit, wanted.better or "unknown", gap=str(error)),) if wanted.name else ()
        return Found(gap, troubles=(f"--metrics {wanted}: {error}" if wanted.text else str(error),), files=files)


def _read(expected: Expected, output: Output) -> Found:
    if expected.file is not None:
        source, says = followed(expected.file) if expected.others else (written(expected.file), "")
        found = _reader(expected.wanted)(source)
        return found._replace(remarks=(*found.remarks, says)) if says else found
    if expected.wanted.reader == "regex":
        from fingerprint.metrics import regex

        return regex.read(output.data, expected.wanted, cut=output.cut)
    found = _reader(expected.wanted)(Source("the command's output", output.data))
    cut = f"only the last {len(output.data) >> 20} MiB of the command's output were kept"
    return found._replace(remarks=(*found.remarks, cut)) if output.cut else found


def _reader(wanted: Wanted) -> Callable[[Source], Found]:
    from fingerprint.metrics import formats, jsonfile

    if wanted.reader == "said":
        return lambda _source: Found()  # no number: for known messages whoever asked looks in each text
    if wanted.reader == "json":
        return lambda source: jsonfile.read(source, wanted)
    return lambda source: formats.read(source, wanted.reader)


def _renamed(found: Found, prefix: str) -> Found:
    """Under the name that was given: the only metric has it, of several each begins with it."""
    if not prefix or (len(found.metrics) == 1 and found.metrics[0].name == prefix):
        return found
    names = [prefix] if len(found.metrics) == 1 else [f"{prefix}/{metric.name}" for metric in found.metrics]
    return found._replace(metrics=tuple(map(_named, found.metrics, names)))


def _told_once(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """A client may tell one thing in two files: statistics in one, in the other what they are of."""
    kept: list[Metric] = []
    places: dict[tuple[str, str, str], int] = {}
    for metric in metrics:
        at = places.setdefault((metric.name, metric.unit, metric.source), len(kept))
        before = kept[at] if at < len(kept) else None
        if before and _are_of(metric, before):
            kept[at] = metric
        elif before is None or not (_are_of(before, metric) or _is_alike(before, metric)):
            kept.append(metric)
    return tuple(kept)


def _is_alike(one: Metric, other: Metric) -> bool:
    return (one.samples, one.summary, one.gap) == (other.samples, other.summary, other.gap)


def _are_of(samples: Metric, told: Metric) -> bool:
    """Whether the statistics of one are those of the other's samples, as far as the mean shows it."""
    mean = told.summary.mean if told.summary and not told.samples else None
    if mean is None or not samples.samples:
        return False
    from statistics import fmean

    own = samples.summary.mean if samples.summary else fmean(samples.samples)
    return own is not None and isclose(own, mean, rel_tol=_ROUNDED)


def _distinct(found: Found, others: Mapping[str, str]) -> Found:
    """A name that is taken gets a number."""
    taken = dict.fromkeys(TAKEN, 1)
    metrics = []
    for metric in found.metrics:
        name = _told(metric.name)
        taken[name] = taken.get(name, int(others.get(name, metric.source) != metric.source)) + 1
        metrics.append(_named(metric, name if taken[name] == 1 else f"{name}#{taken[name]}"))
    return found._replace(metrics=tuple(metrics))


def _told(name: str) -> str:
    """One line of a length that can be shown: a name may be a whole script."""
    line = printable(name).strip() or "(no name)"
    if len(line) <= LONGEST_NAME:
        return line
    from hashlib import blake2b

    return f"{line[: LONGEST_NAME - 12]}... {blake2b(name.encode(), digest_size=4).hexdigest()}"


def _bounded(found: Found) -> Found:
    if len(found.metrics) <= MOST:
        return found
    says = f"{len(found.metrics)} metrics were found and {MOST} are kept at most; run fewer benchmarks at a time"
    return found._replace(metrics=found.metrics[:MOST], troubles=(*found.troubles, says))


def _named(metric: Metric, name: str) -> Metric:
    return msgspec.structs.replace(metric, name=name)
