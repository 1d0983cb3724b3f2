"""A ranked change in the words of the contract: how to check it, how to restore it, what follows from it."""

import re
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from fingerprint.diff.changes import Change, Folded, Unsteady
from fingerprint.explain.contract import Beside, ChangedFact, Suspect
from fingerprint.explain.rank import Ranked
from fingerprint.explain.subject import Subject
from fingerprint.explain.values import plain
from fingerprint.explain.versions import is_patch
from fingerprint.explain.when import bracket
from fingerprint.sources import ENVIRON, LOOKED_AT, looked_at
from fingerprint.words import moment
from probes.kit.facts import Gap, Map, Redacted, Section
from probes.kit.paths import FactPath, parse_glob

NVML = ("nvmlDeviceGet", "NVML_FI_DEV_", "NVML's devices")
SMI = {"nvlink": "nvlink --status", "peers": "topo -p2p r", "topology": "topo -m"}
WELL = frozenset(("no", "none", "1"))  # of a need, that there is none; of what must fit, that it does
_A_FILE = re.compile(r"/[\w./+:@-]+")
_COMMANDS_SHOWN = 4
_OF_ONE = "nvidia-smi -i {key} "
"""Without -i it is about all GPUs."""
_QUOTIENT = re.compile(r"\$\(\((\d+) / (\d+)\)\)")
_CAPITALS = re.compile(r"\$\(echo (\w+) \| tr a-z A-Z\)")
_PIP = "pip install "
_LOCAL = re.compile(r"[^+]*\+(.+)")
"""Of a version, what tells builds of it apart: PyPI holds none that has it."""
_NIGHTLY = ".dev"
_OF_PYTORCH = frozenset(("torch", "torchvision", "torchaudio"))
_BUILDS_OF_PYTORCH = re.compile(r"cu\d+|cpu|rocm[\d.]+")
_INDEX = "https://download.pytorch.org/whl"
PATCHED = "Another release of the same branch: what breaks or moves much mostly comes with another branch"
_CHOICE = re.compile(r"\$\(\[ (\w+) = (\w+) \] && echo (\w+) \|\| echo (\w+)\)")


def suspect_of(
    rank: int, ranked: Ranked, followers: Sequence[str], a: Subject, b: Subject, beside: tuple[Beside, ...] = ()
) -> Suspect:
    change = ranked.change.first
    when = bracket(ranked.change, a, b)
    return Suspect(
        rank=rank,
        facts=(ranked.change.text,),
        before=plain(change.before),
        after=plain(change.after),
        unit=change.fact.unit,
        on=ranked.change.on,
        which=ranked.change.which,
        likelihood=ranked.likelihood,
        score=ranked.score,
        parts=ranked.parts,
        rules=tuple(rule.name for rule in ranked.rules),
        reaches=ranked.reaches,
        explains=ranked.explains.range,
        explains_why_not=ranked.explains.why_not or None,
        mechanism=(_why(ranked), *((ranked.says,) if ranked.says else ())),
        evidence=ranked.evidence,
        against=ranked.against,
        beside=beside,
        consequences=tuple(followers),
        bracket=when and (moment(when.since), moment(when.until)),
        bracket_by=when and when.by,
        check=check(ranked.change),
        confirm=ranked.rules[0].confirm if ranked.rules else "",
        restore=restore(ranked.change),
    )


def _why(ranked: Ranked) -> str:
    """Of a variable, a library, a parameter or a daemon that its rule names the rule knows more than the fact, which is
    about all of them. What the fact says of drivers and kernels is about other branches."""
    change = ranked.change.first
    of_many = bool(change.item and change.key.target) or change.names[-2:-1] == ("cmdline",)
    if ranked.rules and (of_many or _is_named(ranked)):
        return ranked.rules[0].why
    return PATCHED if is_patch(ranked.change) else change.fact.why


def _is_named(ranked: Ranked) -> bool:
    """Whether its rule sees this very item of a collection, as one daemon of all, and not whatever is in it."""
    globs = [parse_glob(glob) for glob in ranked.rules[0].sees]
    return any(
        None in one.pattern and glob.matches(one.path) and not glob.matches(_with_another_item(one))
        for one in ranked.change.changes
        for glob in globs
    )


def _with_another_item(change: Change) -> FactPath:
    at = change.pattern.index(None)
    return change.key.path((*change.names[:at], "", *change.names[at + 1 :]))


def check(folded: Folded) -> str:
    """How to read it now."""
    change = folded.first
    source = change.fact.source
    if source.startswith(NVML) and None in change.pattern:
        return _nvidia_smi(folded)
    if command := looked_at(source):
        is_variable = command == LOOKED_AT[ENVIRON]
        return f"{command} | grep {quote(f'^{change.names[-1]}=')}" if is_variable else command
    return f"cat {source}" if _A_FILE.fullmatch(source) else f"read {source}"


def _nvidia_smi(folded: Folded) -> str:
    """Of links and of pairs `-q` tells nothing. A key within a GPU (a link, a MIG device) is not what -i takes."""
    first = folded.first
    if first.pattern == (None,):
        return "nvidia-smi -L"
    what = next((SMI[name] for name in reversed(first.names) if name in SMI), "-q")
    at = first.pattern.index(None)
    gpu = (first.now if first.pattern.count(None) == 1 else "") or first.names[at]
    alone = {change.names[at] for change in folded.changes} == {first.names[at]}
    return f"nvidia-smi {what}" + (f" -i {quote(gpu)}" if alone and not what.startswith("topo") else "")


def restore(folded: Folded) -> str | None:
    """The commands that set A's values back; None where there is no command or no value to set."""
    template, _, remark = folded.first.fact.restore.partition(" # ")
    values = [_settable(change.before) for change in folded.changes]
    template = _where_it_is(template, folded, values) if template.startswith(_PIP) else template
    if not template or None in values or _mends_what_is_well(folded, template, values):
        return None
    remark = f" # {remark}" if remark else ""
    alike = len(set(values)) == 1
    if alike and template.startswith(_OF_ONE) and 1 < folded.first.among == len(values):
        template = template.replace(_OF_ONE, "nvidia-smi ")
    keys = [change.now or change.item for change in folded.changes]
    commands = dict.fromkeys(_filled(template, key, value or "") for key, value in zip(keys, values, strict=True))
    if len(commands) > _COMMANDS_SHOWN and alike:
        return _computed(_over(_valued(template, values[0] or ""), keys)) + remark
    shown = list(commands)[:_COMMANDS_SHOWN]
    more = f"; # and {len(commands) - len(shown)} more" if len(commands) > len(shown) else ""
    return "; ".join(shown) + (more or remark)


def _where_it_is(template: str, folded: Folded, values: Sequence[str | None]) -> str:
    """Of builds that PyPI does not hold, with the index that does; empty where none is known, as of nightly builds."""
    if any(_NIGHTLY in (value or "") for value in values):
        return ""
    local = {found[1] if (found := _LOCAL.fullmatch(value or "")) else "" for value in values}
    if local == {""}:
        return template
    build = local.pop()
    is_of_pytorch = not local and {change.item for change in folded.changes} <= _OF_PYTORCH
    return f"{template} --index-url {_INDEX}/{build}" if is_of_pytorch and _BUILDS_OF_PYTORCH.fullmatch(build) else ""


def _mends_what_is_well(folded: Folded, template: str, values: Sequence[str | None]) -> bool:
    """A need (a reset that is asked for, a repair that is pending) is mended and never set back."""
    return folded.first.fact.kind == "state" and "{value}" not in template and not set(values) <= WELL


def _over(template: str, keys: Sequence[str]) -> str:
    """One command for many devices."""
    each = template.replace("{key}", '"$key"')
    return f"for key in {' '.join(map(quote, keys))}; do {each}; done"


def _filled(template: str, key: str, value: str) -> str:
    return _computed(_valued(template, value).replace("{key}", quote(key)))


def _valued(template: str, value: str) -> str:
    return template.replace("{value}", quote(value)).replace("{value:}", quote(value.replace(" ", ":")))


def _computed(command: str) -> str:
    """What a shell would work out of constants, as what it comes to."""
    command = _QUOTIENT.sub(lambda found: str(int(found[1]) // int(found[2])), command)
    command = _CAPITALS.sub(lambda found: found[1].upper(), command)
    return _CHOICE.sub(lambda found: found[3] if found[1] == found[2] else found[4], command)


def _settable(value: Any) -> str | None:
    if isinstance(value, Unsteady):
        return _settable(value.first)
    if isinstance(value, (Gap, Redacted, Section, Map, dict)):
        return None
    if isinstance(value, tuple):
        parts = [_settable(item) for item in value]
        return None if None in parts else " ".join(part or "" for part in parts)
    return str(int(value)) if isinstance(value, bool) else str(value)


def changed_fact(folded: Folded, suspects: Mapping[str, int]) -> ChangedFact:
    """`suspects`: rank by text; a consequence belongs to the suspect that it follows."""
    change = folded.first
    alike = all((c.before, c.after) == (change.before, change.after) for c in folded.changes)
    return ChangedFact(
        fact=folded.text,
        kind=change.fact.kind,
        verdict=change.verdict,
        before=plain(change.before) if alike else None,
        after=plain(change.after) if alike else None,
        unit=change.fact.unit,
        on=folded.on,
        which=folded.which if alike else (),
        values={} if alike else {str(c.path): (plain(c.before), plain(c.after)) for c in folded.changes},
        follows=folded.follows,
        suspect=suspects.get(folded.follows or folded.text),
        context=change.context,
        says=change.says,
    )
