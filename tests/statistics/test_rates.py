"""The error rates are as docs/statistics.md states them."""

import re
from math import sqrt

import pytest

from tests.statistics.cases import CASES, MEMORY
from tests.statistics.simulate import PAGE, PAIRS
from tests.statistics.simulated import Case, Rates, rates

ALL = [case for cases in CASES.values() for case in cases]
QUICK = [(case, 40 if case.samples > 1 else 200) for case in ALL]


def stated() -> dict[str, Rates]:
    """By case, from the page's tables."""
    found = {}
    for line in PAGE.read_text().split("<!-- intervals -->")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d.]+ %", cells[1]):
            alarms, _, *others = (float(cell.removesuffix(" %")) / 100 for cell in cells[1:])
            found[cells[0]] = Rates(alarms, *others)
    return found


def test_the_page_states_every_case_and_no_other() -> None:
    measured = {case.name for case in ALL}
    assert len(measured) == len(ALL)
    assert measured == set(stated())
    assert {case.name for case in MEMORY} <= set(re.findall(r"^\| (\d+ lines, phi [\d.]+) ", PAGE.read_text(), re.M))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_no_more_alarms_are_stated_than_the_rules_allow(case: Case) -> None:
    """One state compared with itself: at most 5 %, but for the two cases of one start each that the page explains."""
    assert stated()[case.name].alarms <= case.alarms + _error(case.alarms, PAIRS, 2.5)


@pytest.mark.parametrize(("case", "pairs"), QUICK, ids=lambda value: getattr(value, "name", None))
def test_a_few_pairs_err_as_often_as_stated(case: Case, pairs: int) -> None:
    _agree(case, pairs)


@pytest.mark.long
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_thousand_pairs_err_as_often_as_stated(case: Case) -> None:
    _agree(case, 1000)


def _agree(case: Case, pairs: int) -> None:
    """Other pairs than those of the page."""
    page, found = stated()[case.name], rates(case, pairs, seed=2)
    for name in ("alarms", "power", "unassessed"):
        told, seen = getattr(page, name), getattr(found, name)
        assert abs(seen - told) <= _error(told, pairs, 4) + _error(told, PAIRS, 4), name


def _error(share: float, pairs: int, deviations: float) -> float:
    """Of sampling. Agresti and Coull's two more of each kind keep it above 0: American Statistician 52 (1998) 119."""
    kept = (share * pairs + 2) / (pairs + 4)
    return deviations * sqrt(kept * (1 - kept) / pairs)
