"""What the score of a suspect is made of, by the words of the contract."""

import re
from collections.abc import Mapping, Sequence
from math import log, log1p
from typing import NamedTuple

from fingerprint.diff.changes import Folded, Unsteady
from fingerprint.explain.binding import Bound
from fingerprint.explain.bounds import Explained
from fingerprint.explain.circumstances import Circumstances, is_between, looked_through, needs_a_gpu
from fingerprint.explain.contract import EVERY_RUN, Evidence, MetricChange
from fingerprint.explain.endings import could_not_run, is_told_by
from fingerprint.explain.judged import AS_ANY, SURE, judged, usual
from fingerprint.explain.mechanisms.graph import Resource, Rule
from fingerprint.explain.metrics import EXIT_STATUS
from fingerprint.explain.phases import ANY, OF_MEMORY, phases_of_metric, resources_of_metric
from fingerprint.explain.programs import Programs, is_own_code, own_by
from fingerprint.explain.reach import Reach, plain
from fingerprint.explain.said import UNSAID, Shown
from fingerprint.explain.versions import PATCH, is_patch, newer
from probes.kit.facts import Gap, Redacted
from probes.kit.parse import cpu_list
from probes.kit.paths import FactPath

MOST = 25  # confirmed incidents of one kind of state, of 303: a sample of incidents makes a weak prior
A_FEW = 2
UNHEARD_OF, PRIOR = 0.35, 0.25
"""Of what never was a cause, and by how much more of what often was."""
JUDGED, UNCOUNTED = 0.3, 1
"""Of what is judged the surest cause, beside what is judged as good as any; the less, the more incidents were counted:
as many as these are worth as much as the judgement."""
DRIFTS = 0.5
"""How much a pair in which something differed, and nobody had asked why, says against an incident that it caused."""
BINDING, UNBOUND = 0.4, -0.2
CAUGHT_IN_THE_ACT = 0.35
GREW = 0.3
"""A counter of trouble that grew outranks a setting that differs."""
SHOWN = 0.2
"""Of what harms in more ways than one: less than a limit that was reached, which has but this one."""
QUIET = -0.08
"""Of what shows in counters where it harms, and did not, though it may harm in ways that none of them counts."""
SAID_CAUSE, SAID_RESOURCE = BINDING, SHOWN
"""Of what the worse run said in words: as a limit that was reached, or as what a cause shows in."""
ALONE = -0.2
"""What GPUs say to each other, where there is but one (it may still work with those of other hosts), or over NVLink,
where there is none."""
AMPLE = -0.15
"""Of what runs out, where both runs had more of it than hardly anything needs."""
LINKED, UNLINKED = -0.1, 0.04
"""Of what is between GPUs over PCIe, where NVLink joins them: between a GPU and an adapter it is there all the same. Of
what is over PCIe, where no other way leads from one GPU to another."""
ONE_VERSION = 0.05
"""Of files that are others under the same version: no upgrade does that, somebody did."""
AS_MANY = -0.06
"""Of CPUs that are others, and as many: the work still has what it had, and may be farther from its memory."""
UNREAD = -0.3
"""A variable or flag of another program than the one that ran."""
IDLE = -0.2
"""What is about GPUs, where none worked."""
THROUGH = -0.3
"""Of what stands for other facts, where these were compared themselves."""
UNUSED = -0.08
"""Of what no rule knows by its name, among much that takes no part in a run."""
ASTRAY = -0.1
"""What is told of a git tree that the program is not of."""
LOST = 1.0
"""A device that went while the run ran leads before all else: whatever ran on it broke off."""
ABOUT = 0.03
"""Of what is about the very phase that the number is about, and few others."""
NARROW = 3
AGAINST_THE_STREAM = 0.11
"""Of a package that went back where the others went forward: 3 % of packages do."""
SET_FOR, SET_AGAINST, SET_AGAINST_AN_END = 0.04, -0.04, -0.1
"""Of what somebody set in one run alone, and left as it comes in the other: of 54 confirmed incidents of such settings
42 were of one that the better run had, and 16 of 17 where the worse one ended with an error."""
OWN, OWN_CODE = 0.06, 0.08
"""Of a flag of the program, or a variable that bears its name; of a package or library that does."""
SCRIPTS = 0.1
"""Of what a script calls in each step, where no engine runs that brings its own."""
PRIVATE = -0.02
"""A variable that is kept in clear is known to steer something; of one that is private nobody knows."""
SELDOM = -0.1
"""Of what makes slower and seldom ends a run, where it is to be explained that one ended."""
NAMED, NAMED_TOO = 0.06, 0.03
"""Of what moves the resource first of all, or too, that the number is named after."""
TOLD_BY_STATUS, CANNOT_RUN = 0.15, 0.3
"""Of what an exit status is left by: what was killed or crashed; what could not be run or found, which hardly anything
else leaves."""
RARELY = -0.15
"""Of what mostly pushes such numbers the other way."""
RAN_OUT = 0.05
"""Of what the run that did not come to its end had less of: where most states can end a run in either value, this one
can in one alone, and it is that one."""
AGAINST = -0.2
UNTOLD = (1.0, 2.0)
"""Taken as the usual effect of a mechanism of which nobody tells one."""
ABOUT_AS_FAR = 1.1
STILL = 0.01
"""As logarithms: a number that moved less tells nothing of what moved it."""
CLOSE, WIDE = 0.05, 20.0
"""Of a mechanism that moves numbers just so far, as this one was moved; less the wider its usual effect is."""
PER_DOUBLING, TOO_FAR = -0.1, -0.25
"""For each factor of two by which a number moved further than the mechanism usually moves it, and at most."""
PER_HALVING, TOO_LITTLE = -0.03, -0.1
"""For each factor of two by which the effect was less than the mechanism's: not all of the work waits for it."""
SMALL = -0.15
"""Of what can explain nothing of the change; of what can explain some of it, as much less."""
_PARAMETERS = ("driver", "module", "parameters")
_CPU_LISTS = (("affinity",), ("cpuset_cpus",))


class Case(NamedTuple):
    """What was found of a change. most: of the number. quiet: that nothing moved of what it shows in whenever it does
    harm. brings: by which what follows from it leads to the number.
    astream: whether it is a package that went another way than most. printed: what the worse run alone said of it.
    unread: whether nothing that was there heeds it."""

    change: Folded
    way: Reach
    limits: Bound
    signs: Sequence[Evidence]
    most: Explained
    quiet: bool = False
    brings: Sequence[Reach] = ()
    astream: bool = False
    printed: Shown = UNSAID
    unread: bool = False


def weights(case: Case, metric: MetricChange | None, around: Circumstances) -> Mapping[str, float]:
    """The parts that are not nothing."""
    change, way, limits = case.change, case.way, case.limits
    ways = (way, *case.brings)
    every = {
        "prior": UNHEARD_OF + PRIOR * max(prior(one.rules) for one in ways),
        "judged": max(_suspected(case, one.rules, metric, around) for one in ways),
        "seldom": SELDOM if _ended(metric) and way.rules and way.rules[0].breaks == "seldom" else 0.0,
        "named": named(way.rules, metric, around),
        "rarely": RARELY if way.rarely else 0.0,
        "told by status": told_by_status(change, way, metric),
        "ran out": RAN_OUT if not way.against and any(one.ran_out for one in ways) else 0.0,
        "about": ABOUT if is_about(way.rules, metric) else 0.0,
        "size": size(way.rules, metric, around),
        "bound": SMALL * (1 - case.most.share),
        "binds": BINDING if limits.evidence else UNBOUND if limits.against else 0.0,
        "shows": SHOWN if case.signs and not limits.evidence else 0.0,  # a limit shows in the same counters
        "quiet": QUIET if case.quiet and not case.signs and not limits.evidence else 0.0,
        "said": 0.0 if limits.evidence or case.signs else said(case.printed),
        "alone": ALONE if is_alone(way.rules, metric, around) or _is_of_a_client(change, way.rules, around) else 0.0,
        "against the stream": AGAINST_THE_STREAM if case.astream else 0.0,
        "ample": AMPLE if not case.printed.evidence and _is_ample(change, way.rules) else 0.0,
        "over pcie": over_pcie(way.rules, around),
        "one version": ONE_VERSION if _is_of_one_version(change) else 0.0,
        "set for": 0.0 if way.agrees is not None else set_for(change, metric),
        "own": own(change.first.path, around.ran),
        "patch": PATCH if is_patch(change) else 0.0,
        "as many": AS_MANY if _are_as_many(change) else 0.0,
        "newer": 0.0 if case.astream else newer(change, metric),
        "scripts": SCRIPTS if around.ran.scripted and is_called_in_steps(way.rules, metric) else 0.0,
        "idle": IDLE if around.on.idle and needs_a_gpu(way.rules) else 0.0,
        "through": THROUGH if looked_through(way.rules, change.first.key.target, around) else 0.0,
        "astray": ASTRAY if around.ran.astray and change.first.path[2:3] == ("git",) else 0.0,
        "unread": UNREAD if case.unread else 0.0,
        "unused": UNUSED if way.rules and way.rules[0].unused else 0.0,
        "private": PRIVATE if _is_private(change) else 0.0,
        **_happened(change),
        "against": AGAINST if way.against and way.reaches else 0.0,
    }
    return {name: round(part, 3) for name, part in every.items() if round(part, 3)}


def _happened(change: Folded) -> Mapping[str, float]:
    """While the run ran."""
    verdict = change.first.verdict
    return {
        "changed during the run": CAUGHT_IN_THE_ACT if verdict == "changed during the run" else 0.0,
        "grew": GREW if verdict == "grew" else 0.0,
        "lost": LOST if _was_lost(change) else 0.0,
    }


def said(printed: Shown) -> float:
    if not printed.evidence:
        return 0.0
    return SAID_CAUSE if printed.cause else SAID_RESOURCE


def told_by_status(change: Folded, way: Reach, metric: MetricChange | None) -> float:
    if not is_told_by(change.first.path, way.rules, metric):
        return 0.0
    return CANNOT_RUN if could_not_run(metric) else TOLD_BY_STATUS


def prior(rules: Sequence[Rule]) -> float:
    """By the confirmed incidents of this kind of state, of which one alone says little, and the first few more than as
    many again, less what drifts by itself: 1 and less, by the rule that knows it best."""
    if not rules:
        return 0.0
    known = on_record(rules[0])
    caused = log1p(min(MOST, known.confirmed) / A_FEW) / log1p(MOST / A_FEW)
    return caused - DRIFTS * log1p(known.drifted) / log1p(MOST)


def suspected(rules: Sequence[Rule], metric: MetricChange | None, *, is_idle: bool = False) -> float:
    """By judgement, of what was counted seldom. is_idle: it was seen that it did not bind, so that it is suspected no
    more than any."""
    if not rules:
        return 0.0
    phases = phases_of_metric(metric.name, metric.unit) if metric else ANY
    beside_counts = UNCOUNTED / (UNCOUNTED + on_record(rules[0]).confirmed)
    above = judged(rules[0], phases) - AS_ANY
    return JUDGED * beside_counts * (min(0, above) if is_idle else above) / SURE


def _suspected(case: Case, rules: Sequence[Rule], metric: MetricChange | None, around: Circumstances) -> float:
    """Of what bears the name of a program that nobody knows, no rule can say that it is suspected less than any."""
    by_rule = suspected(rules, metric, is_idle=bool(case.limits.against))
    path = case.change.first.path
    bears_its_name = not around.ran.engines and path[-2:-1] != ("flags",) and own(path, around.ran)
    return max(0.0, by_rule) if bears_its_name else by_rule


def on_record(rule: Rule) -> Rule:
    """With the incidents that count for the pair at hand: all."""
    return rule


def named(rules: Sequence[Rule], metric: MetricChange | None, around: Circumstances) -> float:
    wanted = _measured(metric, around)
    if not rules or metric is None:
        return 0.0
    if rules[0].operations and re.search(rules[0].operations, metric.name.lower()):
        return NAMED
    return NAMED if rules[0].moves[0] in wanted else NAMED_TOO if wanted & {*rules[0].moves} else 0.0


def set_for(change: Folded, metric: MetricChange | None) -> float:
    """Whether the better run has the setting, or the worse one."""
    path, sides = change.first.path, (change.first.before, change.first.after)
    is_setting = path[-2:-1] in (("env",), ("flags",), ("cmdline",)) or path[:3] == _PARAMETERS
    unset = [_is_unset(side) for side in sides]
    if not is_setting or unset[0] is unset[1] or metric is None or metric.verdict not in ("worse", "better"):
        return 0.0
    b_has_it, b_is_better = unset[0], metric.verdict == "better"
    if b_has_it is b_is_better:
        return SET_FOR
    return SET_AGAINST_AN_END if _ended(metric) else SET_AGAINST


def _is_unset(side: object) -> bool:
    return side == "" or (isinstance(side, Gap) and side.code == "absent")


def own(path: FactPath, ran: Programs) -> float:
    if own_by(path, ran):
        return OWN
    return OWN_CODE if is_own_code(path, ran) else 0.0


def is_called_in_steps(rules: Sequence[Rule], metric: MetricChange | None) -> bool:
    return bool(rules) and rules[0].scripts and not _ended(metric)


def is_about(rules: Sequence[Rule], metric: MetricChange | None) -> bool:
    """Whether the mechanism that knows it best is first of all about the phases of the number."""
    if metric is None or _ended(metric) or not rules or not 0 < len(rules[0].phases) <= NARROW:
        return False
    return rules[0].phases[0] in phases_of_metric(metric.name, metric.unit) - ANY


def _measured(metric: MetricChange | None, around: Circumstances) -> frozenset[Resource]:
    """What the number measures: by its name, or because that is all that such a program does."""
    if metric is None or metric.name in EVERY_RUN:
        return frozenset()
    tested: Mapping[str, Resource] = {"nccl": "collective", "rdma": "network"}
    return resources_of_metric(metric.name) | {tested[of] for of in around.ran.engines if of in tested}


def _ended(metric: MetricChange | None) -> bool:
    return metric is not None and metric.name == EXIT_STATUS


def size(rules: Sequence[Rule], metric: MetricChange | None, around: Circumstances) -> float:
    """How far the number moved beside what the mechanism usually does, by the rule that suits best. A number that is
    named after what it moves goes twice as far, as logarithms, and a share of it however far it likes."""
    if metric is None or not metric.ratio or metric.ratio <= 0 or _ended(metric) or abs(log(metric.ratio)) < STILL:
        return 0.0
    if phases_of_metric(metric.name, metric.unit) == OF_MEMORY:
        return 0.0
    of_itself = named(rules, metric, around) == NAMED
    if of_itself and metric.unit == "%":
        return 0.0
    moved = abs(log(metric.ratio)) / (2 if of_itself else 1)
    told = [_fits(moved, *map(log, ratios)) for rule in rules if (ratios := usual(rule))]
    return max(told) if told else min(0.0, _fits(moved, *map(log, UNTOLD)))


def _fits(moved: float, least: float, most: float) -> float:
    """All as logarithms."""
    if moved > most * ABOUT_AS_FAR:
        return max(TOO_FAR, PER_DOUBLING * (moved - most) / log(2))
    if moved < least:
        return max(TOO_LITTLE, PER_HALVING * log(least / moved) / log(2))
    return CLOSE * max(0.0, 1 - (most - least) / log(WIDE))


def is_alone(rules: Sequence[Rule], metric: MetricChange | None, around: Circumstances) -> bool:
    """Whether it is about what GPUs say to each other, by the rule that knows it best, where there are not two, and
    none of other hosts are asked; or about NVLink or RDMA, where there is none."""
    if not rules:
        return False
    rule, on = rules[0], around.on
    is_tested = "nccl" in around.ran.engines or "collective" in _measured(metric, around)
    no_adapter = around.spans_hosts is False or (not around.spans_hosts and (on.adapters == 0 or around.by_layer))
    is_unlinked = on.linked is False and rule.moves[0] == "nvlink"
    return (is_between(rules, around) and not is_tested) or (rule.over_rdma and no_adapter) or is_unlinked


def _is_of_a_client(change: Folded, rules: Sequence[Rule], around: Circumstances) -> bool:
    """Whether it is about what GPUs say to each other, and of a process that asks those that have them."""
    is_about_them = bool(rules) and (rules[0].between or rules[0].over_rdma)
    return is_about_them and around.ran.asks and change.first.path[0] == "process"


def _is_ample(change: Folded, rules: Sequence[Rule]) -> bool:
    enough = rules[0].enough if rules else None
    sides = (change.first.before, change.first.after)
    return enough is not None and all((number := plain(side)) is not None and number >= enough for side in sides)


def over_pcie(rules: Sequence[Rule], around: Circumstances) -> float:
    if not rules or not rules[0].over_pcie or around.on.linked is None:
        return 0.0
    if around.on.linked or (around.by_layer and rules[0].over_pcie == "between GPUs"):
        return LINKED if rules[0].over_pcie == "between GPUs" else 0.0
    return UNLINKED if (around.on.gpus or 0) > 1 else 0.0


def _is_private(change: Folded) -> bool:
    sides = (change.first.before, change.first.after)
    return any(isinstance(part, Redacted) for side in sides for part in (side if isinstance(side, tuple) else (side,)))


def _was_lost(change: Folded) -> bool:
    """Whether the device itself is what went, in one of the runs."""
    sides = (change.first.before, change.first.after)
    last = [side.last for side in sides if isinstance(side, Unsteady)]
    return change.first.pattern[-1:] == (None,) and any(isinstance(value, Gap) for value in last)


def _are_as_many(change: Folded) -> bool:
    names, sides = change.first.names, (change.first.before, change.first.after)
    counts = [_cpus(side) for side in sides] if names[-1:] in _CPU_LISTS else []
    return len(set(counts)) == 1 and counts[0] is not None


def _cpus(told: object) -> int | None:
    """Of a list of CPUs, how many; None of what is none."""
    try:
        return len(cpu_list(told)) if isinstance(told, str) else None
    except ValueError:
        return None


def _is_of_one_version(change: Folded) -> bool:
    """Where the version changed, too, they follow it."""
    names = change.first.names
    return (
        change.first.key.area == "libraries"
        and names[:1] == ("packages",)
        and names[2:3] in (("record",), ("modified",))
    )
