"""`run --report FILE`: one JSON document beside a benchmark's own result, `fingerprint.report/1`.

run       the run, as `show --format json` gives it; with --repeat its last attempt
baseline  the baseline likewise, null where none was named
diff      the baseline against all attempts of the run, as `diff --format json` gives it; null without a baseline
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.store import Found, FoundRun, Stores

SCHEMA = "fingerprint.report/1"


class Report(NamedTuple):
    """What is to be written. ids: what the baseline meant when the run began; none of a file, which stays as it is."""

    file: Path
    baseline: str | None
    ids: tuple[str, ...] = ()


def asked(invocation: "Invocation", file: str | None, baseline: str | None) -> Report:
    """Before the command starts. Raises Trouble for a file that cannot be written and a baseline that is not there."""
    if file is None:
        raise Trouble("--baseline says what --report compares with: name a file with --report FILE as well")
    path = Path(file).absolute()
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Trouble(f"--report {file} cannot be written: name a file in a folder that is there and writable")
    return Report(path, baseline, _ids(invocation, baseline) if baseline is not None else ())


def _ids(invocation: "Invocation", baseline: str) -> tuple[str, ...]:
    """Noted by a store that is closed again: the readers are forked before one is open."""
    from fingerprint.store import FoundSnapshot, Stores

    stores = Stores.open(invocation.environ)
    try:
        found = stores.resolve(baseline)
        if found.store.origin == "file":
            return ()
        return (found.id,) if isinstance(found, FoundSnapshot) else tuple(row.id for row in found.attempts)
    finally:
        stores.close()


def write(invocation: "Invocation", report: Report, run_ids: Sequence[str]) -> str:
    """Why it was not written, in a sentence; empty where it was. run_ids: of all attempts of the run."""
    try:
        text = json.dumps(_document(invocation, report, run_ids), indent=2) + "\n"
        report.file.write_text(text, encoding="utf-8")
    except Exception as error:  # noqa: BLE001  # the command's exit status is to be passed on, whatever is wrong here
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"--report {report.file} was not written: {why or type(error).__name__}"
    return ""


def _document(invocation: "Invocation", report: Report, run_ids: Sequence[str]) -> dict[str, Any]:
    from fingerprint.comparing import compared
    from fingerprint.documents import of_found

    run = _of_ids(invocation.stores, run_ids)
    if report.baseline is None:
        return {"schema": SCHEMA, "run": of_found(run), "baseline": None, "diff": None}
    baseline = _baseline(invocation.stores, report)
    return {
        "schema": SCHEMA,
        "run": of_found(run),
        "baseline": of_found(baseline),
        "diff": _plain(compared(invocation.stores, baseline, run, invocation.noise_of)),
    }


def _plain(diff: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(diff)


def _baseline(stores: "Stores", report: Report) -> "Found":
    assert report.baseline is not None
    if not report.ids:
        return stores.resolve(report.baseline)
    first = stores.resolve(report.ids[0])
    return _of_ids(stores, report.ids) if hasattr(first, "attempts") else first


def _of_ids(stores: "Stores", ids: Sequence[str]) -> "FoundRun":
    """These attempts, and no others of their name."""
    from fingerprint.store import FoundRun

    found = [it for each in ids if isinstance(it := stores.resolve(each), FoundRun)]
    return FoundRun(found[-1].store, tuple(row for it in found for row in it.attempts))
