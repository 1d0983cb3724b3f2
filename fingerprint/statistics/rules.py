"""The numbers that the verdicts turn on."""

from math import log

FEW = 3
"""Starts on each side from which they are compared by themselves."""
KNOWN_FROM = 4
"""Degrees of freedom from which a spread counts as known: five starts."""
SMALL = log(1.10)
"""An effect below which fewer starts tell nothing: starts in two modes, and effects of order, are on record there."""
ASSUMED = 0.05
"""Standard deviation, of logarithms, between starts whose spread nobody knows: a range of 11 % over a few restarts, the
widest on record (github.com/kekzl/imp/issues/1011; across boots 2.8 %, github.com/noonghunna/club-3090/issues/1332)."""
ALARM = 0.05
"""How often, at most, a state compared with itself may be called changed."""
TAIL = ALARM / 2
"""On either side of a 95 % interval."""
POWER = 0.80
"""How often an effect that can be resolved is found."""
BEYOND_WIDEST = 1.1
"""By how much a difference must exceed the widest one seen between starts: of one start each, against 15 others with a
heavy tail or one in ten of them slow, 6 % exceed the widest one itself, and 4 % this."""
FEWEST_BLOCKS = 2
"""Of samples as good as independent, on each side, from which samples within a start are compared."""
FEWEST_LINES = 20
"""Samples of one process from which their memory can be told."""
FEWEST_IN_RANGE = 5
"""Samples from which a side has a range that a single number can lie in."""
