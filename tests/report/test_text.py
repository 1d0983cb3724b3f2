"""The text report says what the contract says, in order, on 80 columns, and nothing that a terminal acts on."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fingerprint.explain.contract import Arithmetic, Diff, During, Evidence, RuledOut
from fingerprint.report.phrases import named
from fingerprint.report.text import render
from tests.report.cases import CASES, EVERYTHING, ONE_SUSPECT, changed, diff, metric, suspect
from tests.report.golden import FOLDER, texts

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(("file", "text"), list(texts()), ids=lambda value: value if value.endswith(".txt") else "")
def test_each_golden_text_is_what_is_rendered(file: str, text: str) -> None:
    assert text == (FOLDER / file).read_text(encoding="utf-8")


def test_every_golden_text_has_its_case() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {file for file, _ in texts()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_diff_loaded_from_its_json_reads_the_same(case: Diff) -> None:
    loaded = msgspec.json.decode(msgspec.json.encode(case), type=Diff)
    assert render(loaded) == render(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_colour_adds_nothing_but_colour(case: Diff) -> None:
    coloured = render(case, color=True)
    assert ESCAPE.search(coloured)
    plain = "".join(f"{line.rstrip()}\n" for line in ESCAPE.sub("", coloured).splitlines())
    assert plain == render(case)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_but_a_command_is_longer_than_the_width(width: int) -> None:
    for line in render(EVERYTHING, width=width).splitlines():
        assert len(line) <= width or line.lstrip().startswith(("check", "restore"))


def test_of_several_devices_and_not_all_it_is_told_which() -> None:
    slots = ("0000:17:00.0", "0000:2a:00.0")
    limit, uuid = (tuple(f"gpu/{slot}/{name}" for slot in slots) for name in ("power_limit", "uuid"))
    told = diff(
        "Changed.",
        suspects=(suspect(1, "gpu/*/power_limit", 600, 450, on="2/8", which=limit),),
        changes=(changed("gpu/*/uuid", "GPU-1", "GPU-2", on="2/8", which=uuid),),
    )
    text = render(told, width=120)
    assert "only on   0000:17:00.0, 0000:2a:00.0\n" in text
    assert "on 2/8: 0000:17:00.0, 0000:2a:00.0" in text


def test_arithmetic_that_says_nothing_has_no_heading() -> None:
    silent = Arithmetic(identities=("x = y",), factors=(), residuals=(), break_even=(), contradictions=(), says=())
    assert "Arithmetic" not in render(diff("Changed.", arithmetic=silent))


def test_where_no_state_was_seen_in_both_nothing_is_said_to_have_stood_still() -> None:
    told = diff("Slower.", ruled_out=RuledOut(count=0, groups=(), absent=()))
    assert "None: no state was seen in both." in render(told, width=80)


def test_what_cannot_be_compared_is_not_said_to_be_another() -> None:
    private = {"redacted": True}
    values = {f"process/main/env/{name}": (private, private) for name in "ABCDEF"}
    change = changed("process/main/env/*", None, None, verdict="not comparable", values=values)
    text = render(diff("One.", changes=(change,)))
    assert "another" not in text
    assert "(private) -> (private)  A, B, C, D and 2 more" in text


def test_a_command_is_never_broken() -> None:
    command = "echo " + "word " * 40 + "end"
    assert command in render(diff("One.", suspects=(suspect(1, "a/b", 1, 2, check=command),)), width=80)


def test_one_suspect_fits_a_screen() -> None:
    assert len(render(ONE_SUSPECT).splitlines()) <= 40


def test_the_answers_come_in_order() -> None:
    text = render(EVERYTHING)
    titles = (
        EVERYTHING.headline[:40], "\nSame experiment?", "\nMetrics", "\nSuspects", "\nChanged while a run ran",
        "\nOther changes", "\nIntended", "\nSeen while they ran", "\nRuled out", "\nNot known", "\nNext",
    )  # fmt: skip
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_suspects_stand_under_a_condition_until_a_metric_is_known_to_have_moved() -> None:
    suspects = (suspect(1, "a/b", 1, 2),)
    for verdict in ("unassessed", "same"):
        assert "if the change is real" in render(diff("x", metrics=(metric("m", verdict, 1, 2),), suspects=suspects))
    for verdict in ("worse", "better", "changed"):
        assert "if the change is real" not in render(
            diff("x", metrics=(metric("m", verdict, 1, 2),), suspects=suspects)
        )


def test_what_is_cut_is_counted() -> None:
    many = diff("x", changes=tuple(changed(f"kernel/n{n}", n, -n) for n in range(1, 41)))
    assert "and 28 more, all in --format json" in render(many)


def test_of_many_metrics_those_that_moved_are_explained_first_and_the_others_are_counted() -> None:
    unassessed = tuple(replace(metric(f"m{n}", "unassessed", 1, 2), says=f"reason {n}") for n in range(10))
    moved = replace(metric("moved", "worse", 1, 2), says="beyond the spread of both")
    text = render(diff("x", metrics=(*unassessed, moved)))
    assert "moved: beyond the spread of both" in text
    assert "m3: reason 3" in text
    assert "m4: reason 4" not in text
    assert "and 6 more, all in --format json" in text


def test_what_hardly_differs_is_not_remarked_beside_what_does() -> None:
    near = replace(metric("near", "unassessed", 1, 1.01), says="12 more starts")
    assert "12 more starts" in render(diff("x", metrics=(near, metric("m", "same", 1, 1))))
    far = replace(metric("far", "unassessed", 1, 2), says="one number each")
    assert "12 more starts" not in render(diff("x", metrics=(near, far)))


def test_what_stands_under_a_suspect_is_not_told_again_among_what_was_seen() -> None:
    counter, flag = "gpu/*/reasons_counters/cap", "gpu/*/reasons/cap"
    seen = [During(fact=fact, unit="", a=0, b=1, on="8/8", values={}, says="up") for fact in (counter, flag, "gpu/*/x")]
    first = suspect(1, "a/b", 1, 2, evidence=(Evidence(fact=counter, a=0, b=1, says="it held"),))
    _, _, told = render(diff("x", suspects=(first,), during=tuple(seen))).partition("Seen while they ran")
    assert "gpu/*/x  up, 8/8" in told
    assert "cap" not in told


def test_a_long_command_of_a_suspect_is_not_repeated_among_what_to_do() -> None:
    command = "for key in " + "0000:17:00.0 " * 8 + "; do nvidia-smi; done"
    text = render(diff("x", suspects=(suspect(1, "a/b", 1, 2, restore=command),), next=(f"Set it back: {command}",)))
    assert text.count(command) == 1
    assert "Set it back: `restore` of suspect 1, above" in text


def test_the_same_by_a_rule_that_its_interval_does_not_show_is_explained() -> None:
    clear = replace(metric("m", "same", 1, 2), ci=(1.1, 1.3), says="beyond, but below the floor")
    assert "below the floor" in render(diff("x", metrics=(clear,)))
    assert "below the floor" not in render(diff("x", metrics=(replace(clear, ci=(0.9, 1.3)),)))


def test_a_suspect_and_its_consequences_are_not_repeated_among_the_other_changes() -> None:
    assert "Other changes" not in render(ONE_SUSPECT)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_no_text_from_the_machine_reaches_the_terminal_unescaped(fact: str, before: str, after: str) -> None:
    hostile: dict[str, Any] = {
        "facts": (fact,),
        "check": before,
        "on": after,
        "consequences": (fact,),
        "mechanism": (after,),
    }
    text = render(
        diff(
            before,
            suspects=(suspect(1, fact, before, after, **hostile),),
            changes=(changed(fact, before, after, says=after),),
        )
    )
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_what_went_dark_for_one_reason_is_one_line() -> None:
    dark: dict[str, Any] = {"verdict": "went dark", "says": "no answer"}
    facts = ["gpu/*", *(f"driver/nvml/{letter}" for letter in "abcdef")]
    changes = tuple(changed(fact, "seen", {"gap": "failed"}, **dark) for fact in facts)
    text = render(diff("One.", changes=(*changes, changed("gpu/*/x", 1, {"gap": "denied"}, **dark))))
    assert text.count("went dark") == 2
    assert "and driver/nvml/a, driver/nvml/b, driver/nvml/c, driver/nvml/d and 2 more" in " ".join(text.split())


def test_growth_of_a_counter_is_not_taken_for_its_value() -> None:
    grown = changed("a/errors", 0, 1, verdict="grew", kind="counter", suspect=1)
    text = render(diff("One.", suspects=(suspect(1, "a/errors", 0, 1),), changes=(grown,)))
    assert "a/errors  stood still -> grew by 1" in text


def test_of_a_counter_that_was_reset_no_value_is_told() -> None:
    reset = changed("a/errors", None, None, verdict="was reset", kind="counter", says="the counter fell")
    text = render(diff("One.", changes=(reset,)))
    assert "a/errors  was reset" in text


FIRST, SECOND = "Loaded lazily, a first call pays; loaded eagerly, the start does.", f"It costs {'a lot ' * 20}more."


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        (FIRST, FIRST),
        (f"{FIRST} {SECOND}", f"{FIRST} {SECOND}"),
        (f"{FIRST} {SECOND} {SECOND}", f"{FIRST} {SECOND}"),
        (f"{SECOND[:-1] * 3}. {FIRST}", f"{SECOND[:-1] * 3}."),
    ],
)
def test_of_a_long_mechanism_whole_sentences_are_told(why: str, shown: str) -> None:
    told = dict(named(suspect(1, "a/b", 1, 2, mechanism=(why,))))
    assert told["why"] == shown.rstrip(".")
    assert dict(named(suspect(1, "a/b", 1, 2, mechanism=(why,)), in_full=True))["why"] == why
