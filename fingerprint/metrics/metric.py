"""One metric of one run."""

from typing import Literal

import msgspec

Better = Literal["lower", "higher", "unknown"]


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """samples: in the order measured, at least one. source: the file, reader or call it was read from.

    `gap` says why there is no value; then there are no samples.
    """

    name: str
    unit: str = ""
    better: Better = "unknown"
    samples: tuple[float, ...] = ()
    source: str = ""
    gap: str = ""
