"""Whether a metric's change is more than chance, and what it would take to tell. Standard library only.

docs/statistics.md says how it decides, and how often it errs.
"""

from fingerprint.statistics.assessment import Verdict, assess
from fingerprint.statistics.planning import Plan, plan
from fingerprint.statistics.rules import SMALL
from fingerprint.statistics.series import Series, Start, series
from fingerprint.statistics.spread import components, modes
from fingerprint.statistics.tails import quantile, quantiles_of_stretches, rarity
from fingerprint.statistics.words import standing

__all__ = [
    "SMALL",
    "Plan",
    "Series",
    "Start",
    "Verdict",
    "assess",
    "components",
    "modes",
    "plan",
    "quantile",
    "quantiles_of_stretches",
    "rarity",
    "series",
    "standing",
]
