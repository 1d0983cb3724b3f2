"""The order of the suspects: which changed state can have moved this number, by what leads from it to the number,
whether that was seen at work, and what speaks against it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from fingerprint.diff.changes import Changes, Folded
from fingerprint.explain.binding import Bound, bound
from fingerprint.explain.bounds import Explained, by_path, explained
from fingerprint.explain.canary import SILENT, Canary, felt
from fingerprint.explain.circumstances import UNKNOWN, Circumstances, is_between, looked_through, needs_a_gpu
from fingerprint.explain.contract import Evidence, Likelihood, MetricChange
from fingerprint.explain.endings import was_killed
from fingerprint.explain.in_force import LESS, NOT_IN_FORCE, NOTHING, AsRead
from fingerprint.explain.judged import usual
from fingerprint.explain.mechanisms.graph import Rule
from fingerprint.explain.observed import Observed
from fingerprint.explain.reach import MOVED, Reach, Target, reach, subject_of, target_of, went_against
from fingerprint.explain.said import shown_by
from fingerprint.explain.signs import shown
from fingerprint.explain.stream import against_the_stream
from fingerprint.explain.unread import unread
from fingerprint.explain.weights import UNTOLD, Case, weights
from probes.kit.facts import Gap
from probes.kit.paths import Glob, parse_glob

LEAST = 0.01


class Ranked(NamedTuple):
    """rules: by which it leads to the metric. reaches: False: by none. parts: what its score is made of. says: beside
    what its rules say."""

    change: Folded
    rules: tuple[Rule, ...]
    reaches: bool
    parts: Mapping[str, float]
    score: float
    likelihood: Likelihood
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    explains: Explained
    says: str = ""

    @property
    def order(self) -> tuple[bool, bool, bool, float, bool, float, str]:
        """What cannot reach the metric stands behind all that can, and never among them; likewise what the process does
        not have, and what can explain nothing of the change; and what was seen to be unlikely behind what may be. Of
        what is as suspicious, what is about the process stands before what is about its host, and what usually does
        much before what usually does little: a batch before a key of the API."""
        idle, of_host = NOT_IN_FORCE in self.parts or self.explains.is_nothing, not self.change.first.key.target
        tier = not self.reaches, idle, self.likelihood == "unlikely"
        return *tier, -self.score, of_host, -self._usually, self.change.text

    @property
    def _usually(self) -> float:
        """By how much at most, by the rule that knows it best."""
        ratios = usual(self.rules[0]) if self.rules else None
        return (ratios or UNTOLD)[1]


def rank(
    changes: Changes,
    grown: Sequence[Folded],
    seen: Sequence[Observed],
    metrics: Sequence[MetricChange] = (),
    around: Circumstances = UNKNOWN,
    as_read: AsRead = NOTHING,
    canary: Canary = SILENT,
) -> tuple[Ranked, ...]:
    """as_read: what processes have in place of what is there now.

    Undeclared changes that lead and are no context, and counters of trouble that are evidence of none of these; the
    most suspicious first."""
    metric = subject_of(metrics)
    stream = against_the_stream(changes.changes)
    about = _About(target_of(metric), metric, metrics, by_path(seen), around, stream, as_read, canary)
    about = about._replace(gone=sum(_is_gone(change, about.harmed) for change in changes.changes))
    followers = _followers(changes.changes)
    leading = [change for change in changes.changes if change.follows is None and change.first.leads]
    suspects = [_ranked(change, about, followers.get(change.text, ())) for change in leading]
    evidence = [parse_glob(evidence.fact) for suspect in suspects for evidence in suspect.evidence]
    suspects += [_ranked(one, about) for one in grown if one.follows is None and not _is_one_of(evidence, one)]
    return tuple(sorted(suspects, key=lambda one: one.order))


class _About(NamedTuple):
    """What suspects are held against. gone: how many packages the worse run lacks."""

    target: Target | None
    metric: MetricChange | None
    metrics: Sequence[MetricChange]
    seen: Mapping[str, Observed]
    around: Circumstances
    stream: Mapping[str, str]
    as_read: AsRead
    canary: Canary
    gone: int = 0

    @property
    def ended(self) -> bool:
        """Whether it is to be explained that a run ended."""
        return self.target is not None and "completion" in self.target.phases

    @property
    def harmed(self) -> str:
        """The worse run."""
        slower = self.target.slower if self.target else None
        return "" if slower is None else "b" if slower else "a"


def _followers(changes: Sequence[Folded]) -> Mapping[str, Sequence[Folded]]:
    found: dict[str, list[Folded]] = defaultdict(list)
    for change in changes:
        if change.follows is not None:
            found[change.follows].append(change)
    return found


def _is_one_of(evidence: Sequence[Glob], counter: Folded) -> bool:
    return all(any(glob.matches(change.path) for glob in evidence) for change in counter.changes)


def _ranked(change: Folded, about: _About, followers: Sequence[Folded] = ()) -> Ranked:
    way = reach(change, about.target, about.metrics, letters=about.around.ran.letters)
    limits = _limits(change, way, about)
    signs, quiet = shown(change, way.rules, about.seen, about.harmed)
    signs = (*signs, *felt(change, way.rules, about.canary, about.harmed))
    printed = shown_by(way, about.around.said, about.harmed)
    evidence = (*limits.evidence, *signs, *printed.evidence)
    idle = unread(change, way.rules, about.around)
    against = (*limits.against, *way.against, *_beside_the_point(change, way, about, idle))
    most = explained(change, way.rules, about.metric, about.seen, _cap(way, about))
    others = [follower for follower in followers if not _is_its_file(follower, change)]
    brings = [led for follower in others if (led := _at_work(follower, about))]
    says = about.stream.get(change.text, "")
    case = Case(change, way, limits, signs, most, quiet, brings, bool(says), printed, bool(idle))
    parts = weights(case, about.metric, about.around)
    parts = {**parts, NOT_IN_FORCE: LESS} if about.as_read.why_not(change) else parts
    score = round(min(1.0, max(LEAST, sum(parts.values()))), 3)
    lacks_it = way.agrees is True or (_is_gone(change, about.harmed) and about.gone == 1)
    proof = evidence if printed.cause or (printed.evidence and lacks_it) else (*limits.evidence, *signs)
    likelihood: Likelihood = "unlikely" if most.is_nothing else _likelihood(way, proof, against, about)
    return Ranked(change, way.rules, way.reaches, parts, score, likelihood, evidence, against, most, says)


def _is_gone(change: Folded, harmed: str) -> bool:
    """Whether it is a package that the worse run lacks."""
    left = change.first.after if harmed == "b" else change.first.before
    is_package = change.first.key.area == "libraries" and change.first.names[:-1] == ("packages",)
    return bool(harmed) and is_package and isinstance(left, Gap) and left.code == "absent"


def _limits(change: Folded, way: Reach, about: _About) -> Bound:
    """A run that was killed may have come to the end of memory after it was last looked at, and what a file system in
    user space reads, it reads for the run."""
    limits = bound(change, way.rules, about.seen, ended=about.ended, harmed=about.harmed)
    is_of_memory = bool(way.rules) and "host memory" in way.rules[0].moves
    is_unseen = (was_killed(about.metric) and is_of_memory) or change.first.path[2:4] in about.around.on.fuse
    return limits._replace(against=()) if is_unseen else limits


def _is_its_file(follower: Folded, change: Folded) -> bool:
    """What is mapped of a package is the package, of which its own rule knows more than that of files."""
    return follower.first.path[0] == "mapped" and change.first.path[0] == "libraries"


def _at_work(follower: Folded, about: _About) -> Reach | None:
    """By which what follows from a change leads to the number, unless it was seen that it does not bind."""
    way = reach(follower, about.target, (), letters=about.around.ran.letters)
    return way if way.reaches and not _limits(follower, way, about).against else None


def _beside_the_point(change: Folded, way: Reach, about: _About, idle: str) -> Iterable[Evidence]:
    """idle: why nothing heeds it."""
    around = about.around
    if not_in_force := about.as_read.why_not(change):
        yield Evidence(fact=change.text, a=None, b=None, says=not_in_force)
    elif idle:
        yield Evidence(fact=change.text, a=None, b=None, says=idle)
    elif areas := looked_through(way.rules, change.first.key.target, around):
        yield Evidence(fact=change.text, a=None, b=None, says=f"what it holds was compared itself: {areas}")
    elif around.on.idle and needs_a_gpu(way.rules):
        yield Evidence(fact=change.text, a=None, b=None, says="it is about GPUs, and none worked")
    elif around.ran.single and is_between(way.rules, around):
        yield Evidence(fact=change.text, a=None, b=None, says="one rank alone has nobody to say anything to")
    elif not about.ended and {one.path[:2] for one in change.changes} <= {("gpu", slot) for slot in around.on.unused}:
        yield Evidence(fact=change.text, a=None, b=None, says="no work ran on this GPU in either run")


def _likelihood(way: Reach, evidence: Sequence[Evidence], against: Sequence[Evidence], about: _About) -> Likelihood:
    """What was seen at work stays possible where all that speaks against it is a number that moved too, and by less: it
    can be a part of the change. One that stood still is none. Of what nothing is to be explained, nothing is likely."""
    if not way.reaches:
        return "unlikely"
    if not against:
        return "likely" if evidence and not _is_at_rest(about) and not _seldom_ends(way, about) else "possible"
    moved = {metric.name for metric in about.metrics if metric.verdict in MOVED and not _went_against(metric, about)}
    return "possible" if evidence and all(one.fact in moved for one in against) else "unlikely"


def _seldom_ends(way: Reach, about: _About) -> bool:
    """Whether it is to be explained that a run ended, by what makes runs slower."""
    return about.ended and bool(way.rules) and way.rules[0].breaks == "seldom"


def _is_at_rest(about: _About) -> bool:
    """Whether what was measured did not move."""
    return about.target is None and any(metric.verdict == "same" for metric in about.metrics)


def _cap(way: Reach, about: _About) -> float:
    """No more than the least of what moved beside it, and should have moved as well; nothing where it pushes the
    other way."""
    names = {evidence.fact for evidence in way.against}
    beside = [metric for metric in about.metrics if metric.name in names]
    if way.opposite or any(_went_against(metric, about) for metric in beside):
        return 1.0
    return min((max(metric.ratio, 1 / metric.ratio) for metric in beside if metric.ratio), default=inf)


def _went_against(metric: MetricChange, about: _About) -> bool:
    return about.target is not None and went_against(metric, about.target)
