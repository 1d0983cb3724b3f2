"""Times as tools print them."""

from contextlib import suppress
from datetime import datetime

from probes.kit.lazy import lazy_regex

_FORMS = (
    "%a %b %d %H:%M:%S %Y %z",  # nvidia-smi and ctime(3)
    "%Y/%m/%d %H:%M:%S.%f %z",  # nvidia-smi --query-gpu=timestamp
    "%Y/%m/%d %H:%M:%S %z",
)
_ISO = lazy_regex(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?")


def moment(printed: str) -> int:
    """ns since 1970, to the second; in UTC where no zone stands beside it. 0 for what is no time."""
    text = " ".join(printed.split())
    if iso := _ISO.fullmatch(text):
        zone = (iso[3] or "Z").replace("Z", "+0000").replace(":", "")
        return _ns(f"{iso[1]} {iso[2]} {zone}", "%Y-%m-%d %H:%M:%S %z")
    return next(filter(None, (_ns(f"{text} +0000", form) for form in _FORMS)), 0)


def _ns(text: str, form: str) -> int:
    with suppress(ValueError):
        return int(datetime.strptime(text, form).timestamp()) * 1_000_000_000  # noqa: DTZ007  # each form has %z
    return 0
