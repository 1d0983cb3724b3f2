"""A policy says what it expects, or one clear sentence says what is wrong with it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fingerprint.gate.expectation import Test as Wanted
from fingerprint.gate.policy import PolicyError, policy_of
from fingerprint.gate.policy_file import LARGEST, policy_at, policy_in

POLICIES = sorted((Path(__file__).parents[2] / "examples" / "policies").glob("*.toml"))


def expect(*lines: str) -> bytes:
    return "\n".join(["[[expect]]", *lines]).encode()


def power(*lines: str) -> bytes:
    return expect('fact = "gpu/*/power_limit"', *lines)


def name(*lines: str) -> bytes:
    return expect('fact = "gpu/*/name"', *lines)


def waive(*lines: str) -> bytes:
    return "\n".join(["[[waive]]", 'fact = "gpu/*/name"', *lines]).encode()


MISTAKES = {
    "empty": (b"", "p.toml expects nothing: write [[expect]]"),
    "comments alone": (b"# later\n", "p.toml expects nothing"),
    "not TOML": (
        b"fact: gpu",
        "p.toml is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 5)",
    ),
    "nested without end": (b"a=" + b"[" * 3000, "p.toml is not TOML"),
    "not UTF-8": (b"# ok\nvary = ['\xff']", "p.toml:2 is not UTF-8: save it as UTF-8"),
    "a table for a list of them": (b"[expect]\nfact='gpu'", "p.toml:1: [expect] is one table: write [[expect]], once"),
    "a key at the top": (b"expects = 1", "p.toml:1: there is no key 'expects': did you mean expect?"),
    "a key": (power("minimum = 600"), "p.toml:3: there is no key 'minimum': did you mean min?"),
    "the key that is needed": (expect('fcat = "gpu"'), "p.toml:2: there is no key 'fcat': did you mean fact?"),
    "an operator": (power("at_leest = 3"), "p.toml:3: there is no key 'at_leest': there are fact, equals, min, max"),
    "no fact": (expect("min = 1"), "p.toml:1: [[expect]] has no fact: every one needs it"),
    "a fact": (expect('fact = "gpu/*/power_limt"', "min = 1"), "did you mean gpu/*/power_limit?"),
    "an area": (b"vary = ['gup/**']", "p.toml:1: 'gup/**' matches no declared fact: did you mean gpu/**?"),
    "a malformed glob": (expect('fact = "gpu//name"', "min = 1"), "p.toml:2: 'gpu//name' has an empty segment"),
    "no unit": (power("min = 600"), 'p.toml:3: gpu/*/power_limit is in mW: say unit = "mW" or'),
    "another unit": (
        power("min = 600", 'unit = "MHz"'),
        "p.toml:4: unit is 'MHz', but gpu/*/power_limit is in \"mW\" or",
    ),
    "a unit of text": (name('equals = "A"', 'unit = "W"'), "p.toml:4: gpu/*/name has no unit: leave it out"),
    "text for a number": (power('min = "600"', 'unit = "W"'), "p.toml:3: min is '600', but must be a number"),
    "text for a whole number": (
        power('equals = "600"'),
        "equals is '600', but gpu/*/power_limit is a whole number",
    ),
    "a switch for text": (
        expect('fact = "gpu/*/persistence_mode"', "equals = true"),
        "p.toml:3: equals is true, but gpu/*/persistence_mode is text",
    ),
    "a bound of text": (name("min = 1"), "p.toml:3: min is 1, but gpu/*/name is text"),
    "a word": (
        power("min = 6", 'unit = "W"', 'severity = "error"'),
        "severity is 'error', but must be 'fail'",
    ),
    "nothing asked": (name(), "p.toml:2: nothing is expected of gpu/*/name: give equals, min"),
    "two operators": (name('equals = "A"', 'matches = "B"'), "equals and matches in one rule: only min and max go"),
    "min above max": (
        power("min = 6", "max = 5", 'unit = "W"'),
        "p.toml:3: min 6 is above max 5: no value",
    ),
    "no regular expression": (name('matches = "("'), "p.toml:3: matches is no regular expression"),
    "one of none": (name("one_of = []"), "p.toml:3: one_of is empty: no value can be one of it"),
    "required and ignored": (
        name("required = true", 'unknown = "ignore"'),
        "p.toml:4: required and",
    ),
    "two rules at odds": (
        name('equals = "A"') + b"\n" + name('equals = "B"'),
        "p.toml:4: no gpu/*/name can be as this rule and the one at p.toml:1 want it",
    ),
    "two bounds at odds": (
        power("min = 600", 'unit = "W"') + b"\n" + power("max = 500", 'unit = "W"'),
        "p.toml:5: no gpu/*/power_limit can be as this rule and the one at p.toml:1 want it",
    ),
    "what moves by itself as in the baseline": (
        expect('fact = "gpu/*/memory/used"', "same_as_baseline = true"),
        "p.toml:3: gpu/*/memory/used is telemetry, which is another at each reading: give min or max",
    ),
    "no end of a waiver": (waive('reason = "x"', 'owner = "ops"'), "p.toml:1: [[waive]] has no expires"),
    "no date": (
        waive('reason = "x"', 'owner = "ops"', 'expires = "soon"'),
        "p.toml:5: expires is 'soon', but must",
    ),
    "nobody who answers": (waive('reason = "x"', 'owner = " "', "expires = 2027-01-31"), "p.toml:4: owner is empty"),
    "one glob for a list": (b'vary = "gpu/**"', "p.toml:1: vary is 'gpu/**', but must be a list"),
    "a number for a fact": (expect("fact = 5", "min = 1"), "p.toml:2: fact is 5, but must be text"),
    "an area of a fact": (
        expect('fact = "memry/usage/available"', "min = 1"),
        "matches no declared fact: did you mean memory/usage/available?",
    ),
    "a fact that another area has": (
        expect('fact = "memory/usage/totel"', "min = 1"),
        "matches no declared fact: did you mean memory/",
    ),
    "a whole area": (
        b"vary = ['cpu']",
        "p.toml:1: 'cpu' matches no declared fact: write cpu/** for all that is below, or name one, as cpu/",
    ),
    "no number": (power("min = nan", 'unit = "W"'), "p.toml:3: min is no number that a value can have"),
    "no bound": (power("max = inf", 'unit = "W"'), "p.toml:3: max is no number that a value can have"),
    "a number without end": (
        power(f"one_of = [1, {10**400}]", 'unit = "W"'),
        "p.toml:3: one_of is no number that a value can have",
    ),
    "one for several": (name('one_of = "A"'), "p.toml:3: one_of is 'A', but must be a list"),
    "several of two types": (
        name('one_of = ["A", 3, true]'),
        "p.toml:3: one_of is ['A', 3, true], but gpu/*/name is text",
    ),
    "a word for a switch": (name('required = "yes"'), "p.toml:3: required is 'yes', but must be true or false"),
    "a date for a number": (
        power("equals = 2027-01-31"),
        "p.toml:3: equals is 2027-01-31, but gpu/*/power_limit is a whole number",
    ),
    "a table for a number": (power("equals = {a = true}"), "p.toml:3: equals is {a = true}, but gpu/*/power_limit"),
    "no unit of many": (expect('fact = "gpu/*/memory/used"', "max = 1"), '"GiB"'),
}


@pytest.mark.parametrize(("content", "told"), MISTAKES.values(), ids=MISTAKES.keys())
def test_each_mistake_is_told_in_one_sentence_with_its_place(content: bytes, told: str) -> None:
    with pytest.raises(PolicyError) as refused:
        policy_of("p.toml", content)
    sentence = str(refused.value)
    assert told in sentence
    assert sentence.startswith("p.toml")
    assert "\n" not in sentence


def test_a_rule_says_what_it_wants_and_where_it_stands() -> None:
    policy = policy_of("p.toml", b"\n" + power("min = 0.6", 'unit = "kW"', 'severity = "warn"', 'reason = "r"'))
    [rule] = policy.expectations
    assert rule.tests == (Wanted("min", 0.6, "kW"),)
    assert (rule.source, rule.severity, rule.unknown, rule.reason) == ("p.toml:2", "warn", "warn", "r")


@pytest.mark.parametrize(
    "content",
    [
        expect('fact = "memory/swap/*/used"', "max = 0"),  # nothing is nothing in any unit
        expect('fact = "gpu"', "min = 8"),
        expect('fact = "process/*/env/NCCL_P2P_DISABLE"', 'equals = "1"'),
        expect('fact = "kernel/modules/kvm/version"', 'matches = "^1"'),
        expect('fact = "gpu/**"', "same_as_baseline = true"),
        expect('fact = "driver/module/parameters/EnableGpuFirmware"', 'equals = "1"'),
        expect('fact = "cpu/idle/states/*/latency"', "max = 0.2", 'unit = "ms"'),
        waive('reason = "x"', 'owner = "ops"', 'expires = "2027-01-31"'),
        b"\xef\xbb\xbf" + name('equals = "A"'),  # as editors of Windows begin a file
    ],
)
def test_what_can_be_meant_is_taken(content: bytes) -> None:
    policy_of("p.toml", content)


@pytest.mark.parametrize("file", POLICIES, ids=lambda file: file.stem)
def test_each_ready_policy_loads_and_says_why(file: Path) -> None:
    policy = policy_in(file)
    assert len(policy.expectations) > 5
    assert [rule.source for rule in policy.expectations if not rule.reason] == []


def test_there_are_policies_for_the_usual_hosts() -> None:
    assert {file.stem for file in POLICIES} >= {
        "quiet-gpu-host", "latency-benchmark", "multi-gpu-benchmark", "ci-runner",
    }  # fmt: skip


# The file


def _large(path: Path) -> None:
    path.write_bytes(b"#" * (10 << 20))


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_large, f"larger than {LARGEST >> 10} KiB: that is no policy"),
        (_pipe, "is no regular file"),
        (_folder, "cannot be read (Is a directory)"),
        (lambda path: None, "cannot be read (No such file or directory)"),
    ],
    ids=["10 MB", "a pipe", "a folder", "none"],
)
def test_what_is_no_file_of_a_policys_size_is_refused(tmp_path: Path, make: Callable[[Path], None], told: str) -> None:
    path = tmp_path / "p.toml"
    make(path)
    with pytest.raises(PolicyError, match="p.toml") as refused:
        policy_in(path)
    assert told in str(refused.value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Its base branch wants 600 W; the working tree has a looser policy, and a hook that would tell if it were run."""
    (tmp_path / "ci").mkdir()
    _git(tmp_path, "init", "-q", "-b", "main")
    policy = tmp_path / "ci" / "p.toml"
    policy.write_bytes(power("min = 600", 'unit = "W"'))
    (tmp_path / ".gitattributes").write_text("*.toml filter=loud diff=loud\n")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "strict")
    policy.write_bytes(power("min = 100", 'unit = "W"'))
    for key in ("filter.loud.smudge", "diff.loud.textconv", "core.fsmonitor"):
        _git(tmp_path, "config", key, f"touch {tmp_path}/ran; cat")
    return tmp_path


def _git(folder: Path, *words: str) -> None:
    subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)


def test_a_policy_is_read_from_another_revision_and_nothing_of_the_tree_is_run(repository: Path) -> None:
    [rule] = policy_at(repository / "ci" / "p.toml", "main").expectations
    assert rule.tests == (Wanted("min", 600, "W"),)
    assert rule.source == f"{repository}/ci/p.toml at main:1"
    assert not (repository / "ran").exists()


def test_a_policy_that_a_change_removed_is_read_all_the_same(repository: Path) -> None:
    (repository / "ci" / "p.toml").unlink()
    (repository / "ci").rmdir()
    assert policy_at(repository / "ci" / "p.toml", "main").expectations


def test_a_policy_that_a_partial_clone_lacks_is_not_fetched_by_the_trees_own_program(repository: Path) -> None:
    for key, value in (
        ("extensions.partialClone", "origin"), ("remote.origin.promisor", "true"), ("remote.origin.url", "ssh://h/r"),
        ("core.sshCommand", f"touch {repository}/ran; false"), ("core.repositoryFormatVersion", "1"),
        ("protocol.ssh.allow", "always"),
    ):  # fmt: skip
        _git(repository, "config", key, value)
    blob = subprocess.run(
        ("git", "rev-parse", "main:ci/p.toml"), cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(PolicyError, match="fetch the revision"):
        policy_at(repository / "ci" / "p.toml", "main")
    assert not (repository / "ran").exists()


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("nowhere", "fetch the revision (a shallow checkout has its own alone), or name another"),
        ("--help", "is no revision: name a branch"),
        ("main:ci", "is no revision: name a branch"),
        ("", "is no revision: name a branch"),
    ],
)
def test_a_revision_that_is_none_is_told(repository: Path, revision: str, told: str) -> None:
    with pytest.raises(PolicyError) as refused:
        policy_at(repository / "ci" / "p.toml", revision)
    assert told in str(refused.value)


def test_what_another_revision_has_is_refused_as_a_file_is(repository: Path) -> None:
    (repository / "new.toml").write_bytes(power("min = 1", 'unit = "W"'))
    told = {
        "new.toml": "new.toml is not in main: bring it there first, or leave --policy-ref out",
        "latin.toml": "latin.toml at main is not UTF-8: save it as UTF-8",
        "large.toml": f"large.toml at main is larger than {LARGEST >> 10} KiB: that is no policy",
        "link.toml": "link.toml at main is a symbolic link to ci/p.toml: name that",
        "ci": "ci at main is no regular file: name a policy's file",
    }
    (repository / "latin.toml").write_bytes("# für später\n".encode("latin-1"))
    _large(repository / "large.toml")
    (repository / "link.toml").symlink_to("ci/p.toml")
    _git(repository, "add", "latin.toml", "large.toml", "link.toml")
    _git(repository, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "odd")
    for name, sentence in told.items():
        with pytest.raises(PolicyError) as refused:
            policy_at(repository / name, "main")
        assert sentence in str(refused.value)


def test_a_policy_of_a_revision_where_there_is_no_repository_is_told(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"not a git repository.*: name a policy in a repository"):
        policy_at(tmp_path / "p.toml", "main")
