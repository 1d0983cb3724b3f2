"""Why something went dark, in the words of whoever could not read it: details of gaps stand in the volatile half."""

from collections import Counter

from fingerprint.sections import leaves
from fingerprint.walk import Names, value_at
from probes.kit.facts import Gap, Section


def why_dark(volatile: Section, names: Names) -> str:
    """Of an item, what is said of most of its facts; nothing where nobody said why."""
    found = value_at(volatile, names)
    if isinstance(found, Gap):
        return found.detail if found.code != "not_read" else ""
    if not isinstance(found, Section):
        return ""
    said = Counter(leaf.value.detail for leaf in leaves(found) if isinstance(leaf.value, Gap) and leaf.value.detail)
    return said.most_common(1)[0][0] if said else ""
