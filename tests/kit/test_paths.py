import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.paths import FactPath, Glob, parse_glob, parse_path

segments = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
paths = st.lists(
    st.one_of(segments, st.sampled_from(["%", "/", "*", "%2F", "**", "a%", "%25"])), min_size=1, max_size=6
)


@given(paths)
def test_a_written_path_reads_back_as_itself(names: list[str]) -> None:
    path = FactPath(names)
    assert parse_path(str(path)) == path


@given(paths)
def test_a_written_path_is_a_glob_that_matches_itself_and_nothing_longer(names: list[str]) -> None:
    path = FactPath(names)
    glob = Glob(str(path))
    assert glob.matches(path)
    assert not glob.matches(path / "more")


@given(paths, st.integers(0, 5))
def test_two_stars_stand_for_any_number_of_segments(names: list[str], cut: int) -> None:
    path = FactPath(names)
    head = "".join(f"{FactPath([name])}/" for name in path[:cut])
    assert Glob(f"{head}**").matches(path)
    assert Glob("**").matches(path)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("gpu/*/power_limit", "gpu/0000:17:00.0/power_limit", True),
        ("gpu/*/power_limit", "gpu/power_limit", False),
        ("gpu/*/power_limit", "gpu/a/b/power_limit", False),
        ("process/*/env/NCCL_*", "process/main/env/NCCL_PROTO", True),
        ("process/*/env/NCCL_*", "process/main/env/NCCL_", True),
        ("process/*/env/NCCL_*", "process/main/env/XNCCL_PROTO", False),
        ("process/*/env/*_PROTO", "process/main/env/NCCL_PROTO", True),
        ("process/*/env/N*P*O", "process/main/env/NCCL_PROTO", True),
        ("memory/**", "memory", True),
        ("memory/**", "memory/swap/sda2/priority", True),
        ("memory/**", "memoryless/swap", False),
        ("**/version", "version", True),
        ("**/version", "kernel/modules/kvm/version", True),
        ("kernel/**/version", "kernel/version", True),
        ("kernel/**/version", "kernel/modules/kvm/srcversion", False),
        ("a/**/b/**/c", "a/b/b/x/c", True),
        ("kernel/release", "kernel/release/more", False),
        ("kernel/modules/snd%2Fpcm", "kernel/modules/snd%2Fpcm", True),
        ("a/b.c", "a/bxc", False),
        ("nodes/0/1", "nodes/0/1", True),
        ("nodes/*/07", "nodes/0/07", True),
        ("nodes/0*", "nodes/01", True),
        ("a/x[1]*?", "a/x[1]y?", True),
        ("a/x[1]*?", "a/x1yz", False),
        ("a/x%2A*", "a/x%2Ay", True),
        (f"a/{'a*' * 30}b", f"a/{'a' * 60}", False),
        (f"a/{'a*' * 30}b", f"a/{'a' * 60}b", True),
        (f"{'**/' * 30}z", "/".join("abcdefghijklmnopqrst"), False),
    ],
)
def test_one_star_is_one_segment_or_a_part_of_one(glob: str, path: str, matches: bool) -> None:
    assert parse_glob(glob).matches(parse_path(path)) is matches


AS_REGEX = {"a": "/a", "b": "/b", "ab": "/ab", "*": "/[^/]+", "a*": "/a[^/]*", "*b": "/[^/]*b", "**": "(/[^/]+)*"}


@given(
    st.lists(st.sampled_from([*AS_REGEX]), min_size=1, max_size=5),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6),
)
def test_a_glob_matches_as_one_expression_for_all_of_it_does(parts: list[str], names: list[str]) -> None:
    whole = re.compile("".join(AS_REGEX[part] for part in parts))
    path = "".join(f"/{name}" for name in names)
    assert Glob("/".join(parts)).matches(FactPath(names)) is bool(whole.fullmatch(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty segment"),
        ("kernel//release", "empty segment"),
        ("/kernel", "empty segment"),
        ("kernel/", "empty segment"),
        ("kernel/50%", "write it as %25"),
        ("kernel/%2", "write it as %25"),
        ("kernel/*", "write a literal . as %2A"),
    ],
)
def test_a_malformed_path_is_refused_with_the_remedy(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "says"), [("", "empty segment"), ("a//b", "empty segment"), ("a/", "empty segment"), ("a/5%*", "%25")]
)
def test_a_malformed_glob_is_refused_with_the_remedy(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_glob(text)


def test_an_escape_may_be_written_in_lower_case() -> None:
    assert parse_path("a%2fb/c%2a") == ("a/b", "c*")


def test_a_path_grows_by_one_segment() -> None:
    assert str(parse_path("storage/mounts") / "/var/lib" / "options") == "storage/mounts/%2Fvar%2Flib/options"


def test_globs_are_equal_by_their_text_and_print_it() -> None:
    assert parse_glob("a/*") == Glob("a/*")
    assert len({Glob("a/*"), Glob("a/*"), Glob("a/**")}) == 2
    assert str(Glob("a/N*")) == "a/N*"
