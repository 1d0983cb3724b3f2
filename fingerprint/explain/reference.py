"""`fingerprint explain`: a rule of the mechanism graph, or a fact and the rules that it has a part in, in words."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from fingerprint import catalog
from fingerprint.catalog import CatalogFact, Row
from fingerprint.explain.judged import told
from fingerprint.explain.mechanisms import phases_of, rule, rules, rules_of, themes
from fingerprint.explain.mechanisms.graph import Bound, Condition, Letters, Rule, Sign, Way
from fingerprint.explain.reach import is_letter
from probes.kit.paths import FactPath, parse_glob, parse_path

INCIDENTS = 303
WAYS: Mapping[Way, str] = {
    "more helps": "a larger value means more of it",
    "less helps": "a smaller value means more of it",
    "either": "either: the same change helped here and hurt there",
}
SIGNS: Mapping[Sign, str] = {
    "grew": "grew during the run",
    "reached": "came to the limit",
    "active": "was on while the GPU was busy",
    "lower": "was lower in the run that has the limit",
    "carried": "is, a second, a tenth and more of",
    "crossed": "is more than nothing",
    "rerouted": "ceased in the run without, and there grew",
    "worked": "grew more in one of the runs",
}
NO_BOUND = "unknown: no bound known"


def explain(text: str) -> str:
    """Of a rule's name, a fact's path or a glob. Raises LookupError with a sentence that names the nearest."""
    with suppress(LookupError):
        return of_rule(rule(text))
    try:
        return catalog.explain(text, lambda fact: rows_of_fact(text, fact))
    except LookupError as error:
        near = nearest_rules(text)
        raise LookupError(f"{error.args[0]}{_told(near)}") from None


def _told(rules: Sequence[str]) -> str:
    return f" Nearest rules: {', '.join(rules)}." if rules else ""


def nearest_rules(text: str) -> list[str]:
    """Names of rules that may have been meant; none for what is written as a path."""
    names = [rule.name for rule in rules()]
    if not text or "/" in text:
        return []
    return ([name for name in names if text in name] or difflib.get_close_matches(text, names, n=3))[:3]


# A rule.


def of_rule(rule: Rule) -> str:
    return catalog.in_rows(rule.name, rows_of_rule(rule))


def rows_of_rule(rule: Rule) -> Iterator[Row]:
    yield "Theme", theme_of(rule)
    yield "Sees", "\n".join(rule.sees)
    yield "Moves", f"{', '.join(rule.moves)}; {direction(rule)}"
    yield "Reaches", "\n".join(f"{phase} ({why})" for phase, why in phases_of(rule).items())
    yield "Why", rule.why
    yield "Binds", "\n".join(map(condition, rule.binds)) or "always: nothing has to be seen beside the change"
    if rule.shows:
        yield "Shows in", "\n".join(map(condition, rule.shows))
    if rule.told_by:
        yield "Told by", "\n".join(map(message, rule.told_by))
    if rule.between:
        yield "Between", "GPUs, or nodes: of a GPU that is alone it moves nothing"
    if rule.over_rdma:
        yield "Needs", NEEDS_RDMA
    if rule.enough is not None:
        yield "Enough", enough(rule.enough)
    if has_letters(rule):
        yield "Letters", f"flags of one letter are those of {LETTERS[rule.letters]}; to others they say other things"
    yield "Suspected", suspected(rule)
    yield "Explains", bound(rule.bound)
    yield "Confirm", rule.confirm
    yield "Restore", "\n".join(restores(rule)) or "no single command sets it back"
    yield "Beside it", "\n".join(rule.beside) or "nothing decides without having changed"
    yield "Incidents", incidents(rule)
    yield "Sources", "\n".join(rule.sources) or "none"


CLASSES = {
    "rate": "of a rate on GPUs", "host": "of work on the host", "transfer": "of a transfer", "start": "of a start",
    "memory": "of memory taken", "ended": "of a run that ended with an error",
}  # fmt: skip
NEEDS_RDMA = "an adapter of RDMA, and peers on other hosts: without them it moves nothing"


LETTERS: Mapping[Letters, str] = {
    "of an engine": "engines that serve models", "of a test": "tests of transfers", "of ranks": "what starts ranks",
}  # fmt: skip


def has_letters(rule: Rule) -> bool:
    return any(is_letter(FactPath(glob.split("/"))) for glob in rule.sees)


def enough(value: float) -> str:
    return f"{value:g}: where both runs had as much, it hardly ran out"


def suspected(rule: Rule) -> str:
    judgement = told(rule)
    if judgement is None:
        return "as any: nobody judged it"
    classes = ", ".join(f"{word} {getattr(judgement, name)}" for name, word in CLASSES.items())
    return f"before anything is seen, of 9: {classes}"


def direction(rule: Rule) -> str:
    way = f"best at {' or '.join(rule.best)}: who leaves it loses" if rule.best else WAYS[rule.way]
    way = f"worst at {' or '.join(rule.worst)}: who goes there loses" if rule.worst else way
    return f"{way}; mostly, for the other way is on record as well" if rule.mostly else way


def theme_of(rule: Rule) -> str:
    return next(title for title, declared in themes().items() if rule in declared)


def condition(condition: Condition) -> str:
    of = f" {condition.of}" if condition.of else ""
    return f"{condition.facts} {SIGNS[condition.sign]}{of}: {condition.says}"


def message(known: str) -> str:
    from fingerprint.said.catalogue import CATALOGUE

    texts = " or ".join(f"`{text.decode()}`" for text in CATALOGUE[known].texts)
    return f"{known} ({texts}): {CATALOGUE[known].says}"


def bound(bound: Bound | None) -> str:
    if bound is None:
        return NO_BOUND
    measure = "by the values of" if bound.by == "ratio" else "by what both runs saw of"
    return f"{bound.says} ({measure} {bound.facts})"


def incidents(rule: Rule) -> str:
    told = "a verified fix or a maintainer's word"
    return f"the cause in {rule.confirmed} of {INCIDENTS}, by {told}" if rule.confirmed else f"none with {told}"


def restores(rule: Rule) -> list[str]:
    """One line for each command that sets some of the seen facts back."""
    by_command: dict[str, list[str]] = {}
    for fact in _seen(rule):
        if fact.restore:
            by_command.setdefault(fact.restore, []).append(fact.path)
    return [f"{command}  ({', '.join(paths)})" for command, paths in by_command.items()]


def _seen(rule: Rule) -> Iterable[CatalogFact]:
    return {fact.path: fact for glob in rule.sees for fact in catalog.find(glob)}.values()


# A fact.


def rows_of_fact(pattern: str, fact: CatalogFact) -> Iterator[Row]:
    """What a fact that the pattern can mean has to do with the rules."""
    yield "Mechanisms", "\n".join(map(_in_short, _seeing(pattern, fact))) or _unseen(fact)
    told = [rule.name for rule in rules() if any(_overlap(one.facts, pattern, fact) for one in rule.binds)]
    if told:
        yield "Evidence", f"tells whether these bind: {', '.join(told)}"
    shown = [rule.name for rule in rules() if any(_overlap(one.facts, pattern, fact) for one in rule.shows)]
    if shown:
        yield "Sign", f"shows that these were at work: {', '.join(shown)}"
    beside = [rule.name for rule in rules() if any(_overlap(glob, pattern, fact) for glob in rule.beside)]
    if beside:
        yield "Beside", f"decides, without having changed, in: {', '.join(beside)}"


def _in_short(rule: Rule) -> str:
    whose = f" (of {LETTERS[rule.letters]})" if has_letters(rule) else ""
    return f"{rule.name}: {', '.join(rule.moves)} -> {', '.join(phases_of(rule))}{whose}"


def _unseen(fact: CatalogFact) -> str:
    if fact.context:
        return "none: context for other facts"
    return "none: evidence, no cause by itself" if fact.kind in ("counter", "telemetry") else "none sees it"


def _seeing(pattern: str, fact: CatalogFact) -> tuple[Rule, ...]:
    if "*" not in pattern and not _is_whole_collection(pattern, fact):
        return rules_of(parse_path(pattern))
    return tuple(rule for rule in rules() if any(_overlap(glob, pattern, fact) for glob in rule.sees))


def _is_whole_collection(pattern: str, fact: CatalogFact) -> bool:
    return fact.type.startswith("Map[") and pattern.count("/") == fact.path.count("/")


def _overlap(glob: str, pattern: str, fact: CatalogFact) -> bool:
    """Whether the glob can mean the fact, and within it something that the pattern means too."""
    if not catalog.can_mean(glob.split("/"), fact):
        return False
    return any(_one_covers(glob, other) for other in (pattern, f"{pattern}/*"))


def _one_covers(one: str, other: str) -> bool:
    return any(parse_glob(a).matches(FactPath(b.split("/"))) for a, b in ((one, other), (other, one)))
