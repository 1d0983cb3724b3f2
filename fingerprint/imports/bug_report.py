"""Files that nvidia-bug-report.sh copies, each below its name and what ls(1) says of it: the nodes of memory, and when
that was. What it copies of the driver is found as `proc` finds it anywhere.
"""

import re

from fingerprint.imports.dump import Told, of_host
from fingerprint.imports.printed import cpus_in
from fingerprint.imports.proc import Texts
from fingerprint.imports.times import moment
from probes.kit.facts import NOT_READ, Seen, then
from probes.kit.knobs import read_each
from probes.kit.lazy import lazy_regex
from probes.kit.parse import as_cpu_list
from probes.kit.redact import Redactor
from probes.numa import Numa

BEGINS = lazy_regex(r"^\*\*\* /(?:proc|sys)/\S+$(?=\n\*\*\* ls: )", re.MULTILINE)
_FILE = lazy_regex(r"^\*\*\* (?P<path>/\S+)\n\*\*\* ls: (?P<ls>.*)\n(?P<text>[^\n]*\n)", re.MULTILINE)
_CLOCK = lazy_regex(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d+ ([+-]\d{4})")


def read(text: str, redactor: Redactor) -> Told:
    """Of each file the first line. A file of /proc is as old as the look at it."""
    found = list(_FILE.finditer(text))
    host = Texts({match["path"].replace("/./", "/"): match["text"] for match in found}, redactor)
    clocks = [_CLOCK.search(match["ls"]) for match in found if match["path"].startswith("/proc/")]
    at = max((moment(f"{clock[1]}{clock[2]}") for clock in clocks if clock), default=0)
    numa = read_each(Numa, lambda path: then(host.line(path), _listed), nodes=NOT_READ)
    return of_host({"numa": numa} if numa != Numa() else {}, at)


def _listed(line: str) -> Seen[str]:
    """`not_read` where a line that is none of it stands in its place."""
    return as_cpu_list(cpus_in(line)) or NOT_READ
