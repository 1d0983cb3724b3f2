"""Which words of a command line are flags, which their values, and which operands."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.facts import Redacted, seen_or
from probes.kit.flags import flags

SECRET = Redacted("k", "d")


@pytest.mark.parametrize(
    ("line", "found", "operands"),
    [
        ("", {}, ()),
        ("serve /models/m --tp 8", {"--tp": ("8",)}, ("serve", "/models/m")),
        ("--lora a b --eager", {"--lora": ("a", "b"), "--eager": ()}, ()),
        ("--port=30000 more --json={a=1}", {"--port": ("30000",), "--json": ("{a=1}",)}, ("more",)),
        ("--lora a --seed 1 --lora=b", {"--lora": ("a", "b"), "--seed": ("1",)}, ()),
        ("--eager --eager", {"--eager": ()}, ()),
        ("--max_num_seqs 8 --max-num-seqs 9", {"--max-num-seqs": ("8", "9")}, ()),
        ("-ngl 99 -fa -t 8 -b_c 1", {"-ngl": ("99",), "-fa": (), "-t": ("8",), "-b_c": ("1",)}, ()),
        ("--temp -0.5 -1 -.5 -1e5 -", {"--temp": ("-0.5", "-1", "-.5", "-1e5", "-")}, ()),
        ("-9 1234", {}, ("-9", "1234")),
        ("--a 1 -- --b 2", {"--a": ("1",)}, ("--b", "2")),
        ("serve --port 8000 org/model --tp 8", {"--port": ("8000",), "--tp": ("8",)}, ("serve", "org/model")),
        ("--name=", {"--name": ("",)}, ()),
        ("-std=c++17 -DNDEBUG a.c", {"-std": ("c++17",), "-DNDEBUG": ("a.c",)}, ()),
        ("--a.b=1 --=x", {"--a.b": ("1",)}, ("--=x",)),
    ],
)
def test_a_line_is_told_by_flag(line: str, found: Mapping[str, Sequence[str]], operands: Sequence[str]) -> None:
    told = flags(line.split())
    assert (told.flags.items, told.operands) == (found, operands)


def test_a_word_with_blanks_is_a_value_whatever_it_begins_with() -> None:
    assert flags(["-c", "-x = 1; print(x)"]).flags.items == {"-c": ("-x = 1; print(x)",)}


def test_a_redacted_word_is_a_value_or_an_operand() -> None:
    told = flags([SECRET, "--api-key", SECRET, "--tp=8", SECRET])
    assert (told.flags.items, told.operands) == ({"--api-key": (SECRET,), "--tp": ("8",)}, (SECRET, SECRET))


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.just("--")))
def test_no_word_is_lost(words: list[str]) -> None:
    """Beside the first `--`, each is a name, a value, both, or an operand."""
    told = flags(words)
    named = [part for name, values in told.flags.items.items() for part in (name, *map(str, seen_or(values, ())))]
    kept = "".join((*named, *map(str, told.operands))).replace("_", "-")
    assert all(part in kept for word in words if word != "--" for part in word.replace("_", "-").partition("=")[::2])


@given(st.dictionaries(st.sampled_from(["--a", "--b-c", "-d"]), st.lists(st.from_regex(r"[a-z0-9/]+", fullmatch=True))))
def test_what_is_written_as_a_line_is_read_back(wanted: dict[str, list[str]]) -> None:
    line = [word for name, values in wanted.items() for word in (name, *values)]
    assert flags(line).flags.items == {name: tuple(values) for name, values in wanted.items()}
