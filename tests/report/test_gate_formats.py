"""What a pipeline reads of a gate: JUnit, GitHub's workflow commands, GitLab's Code Quality, Markdown."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fingerprint.gate.contract import Verdict
from fingerprint.report import github, gitlab, junit, markdown
from tests.report.cases import CASES
from tests.report.hostile import HOSTILE, hostile_diff, hostile_document, replaced
from tests.report.verdicts import NOT_READY, READY, VERDICTS

all_verdicts = pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS.keys())


def hostile_verdict(text: str) -> Verdict:
    plain = json.loads(msgspec.json.encode(NOT_READY))
    hostile = replaced(plain, text)
    for check, told in zip(hostile["checks"], plain["checks"], strict=True):
        check.update({name: told[name] for name in ("origin", "severity")})
    return msgspec.convert({**hostile, "outcome": "fail", "taken_at": plain["taken_at"]}, Verdict)


# JUnit.


@all_verdicts
def test_a_suite_fails_exactly_where_the_gate_does(verdict: Verdict) -> None:
    suite = ET.fromstring(junit.render(verdict)).find("testsuite")
    assert suite is not None
    counted = {kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")}
    assert (counted["failure"] + counted["error"] == 0) == (verdict.outcome == "pass")
    assert {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": len(verdict.checks), "failures": counted["failure"], "errors": counted["error"],
        "skipped": counted["skipped"],
    }  # fmt: skip


def test_what_could_not_be_read_is_an_error_where_it_stops_the_gate_and_else_skipped() -> None:
    suite = ET.fromstring(junit.render(NOT_READY))
    found = {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert found == {
        "power-limit": ["failure"], "kernel/tracing/*": ["error"], "cpu/*/governor": ["system-out"],
        "gpu/*/uuid": ["skipped"], "numa/balancing": ["skipped"], "memory/swap": [], "pcie/link": ["skipped"],
    }  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_suite_is_xml_whatever_its_texts_are(text: str) -> None:
    suite = ET.fromstring(junit.render(hostile_verdict(text)))
    assert {element.tag for element in suite.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped", "system-out",
    }  # fmt: skip


# GitHub's workflow commands, parsed as the runner does (actions/runner, ActionCommand.TryParseV2).


class Command(NamedTuple):
    name: str
    properties: Mapping[str, str]
    message: str


def commands(text: str) -> list[Command]:
    return [_command(line) for line in text.splitlines()]


def _command(line: str) -> Command:
    assert line.startswith("::")
    info, separator, data = line[2:].partition("::")
    assert separator
    name, _, properties = info.partition(" ")
    parted = (pair.split("=", 1) for pair in properties.split(",") if pair)
    return Command(name, {key: _unescaped(value, in_property=True) for key, value in parted}, _unescaped(data))


def _unescaped(text: str, *, in_property: bool = False) -> str:
    for mark, escape in ((":", "%3A"), (",", "%2C")) if in_property else ():
        text = text.replace(escape, mark)
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_each_check_that_is_not_as_it_should_be_is_an_annotation_beside_its_line_of_the_policy() -> None:
    answer, failed, unknown, warned = commands(github.render(NOT_READY))
    assert (answer.name, answer.message) == ("error", NOT_READY.says)
    assert failed.name == "error"
    assert failed.properties == {"title": "gate: power-limit"}
    assert failed.message.splitlines()[1:] == ["why: throughput fell 100 %: x 0.64", "restore: nvidia-smi -pl 600"]
    assert unknown.properties == {"title": "gate: kernel/tracing/*", "file": "policies/quiet, fast.toml", "line": "12"}
    assert warned.name == "warning"
    assert warned.properties == {"title": "gate: cpu/*/governor", "file": "policies/ci.toml", "line": "3"}


@all_verdicts
def test_no_more_is_annotated_than_is_shown(verdict: Verdict) -> None:
    told = commands(github.render(verdict))
    assert sum(command.name == "error" for command in told[1:]) <= github.SHOWN + 1
    assert told[0].name == ("notice" if verdict.outcome == "pass" else "error")


@given(st.text(), st.text())
def test_a_command_gives_back_its_message_and_properties(message: str, title: str) -> None:
    line = github.command("error", message, title=title)
    assert "\n" not in line
    assert "\r" not in line
    found = _command(line)
    assert (found.message, found.properties) == (message, {"title": title} if title else {"title": ""})


@pytest.mark.parametrize("text", [*HOSTILE, "x\n::set-env name=PATH::/evil", "a\r\n::stop-commands::x", "##[error]x"])
def test_no_text_becomes_a_command(text: str) -> None:
    told = commands(github.render(hostile_verdict(text)))
    assert [command.name for command in told] == ["error", "error", "error", "warning"]


# GitLab's Code Quality: what its report format documents, and what its own parser asks for.

CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)."},
                    "lines": {
                        "type": "object", "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}  # fmt: skip


@all_verdicts
def test_a_code_quality_report_is_one(verdict: Verdict) -> None:
    found = json.loads(gitlab.render(verdict))
    jsonschema.validate(found, CODE_QUALITY)
    digests = [entry["fingerprint"] for entry in found]
    assert len(digests) == len(set(digests)) == sum(c.stops or c.state in ("warned", "waived") for c in verdict.checks)


def test_an_entry_stands_at_its_line_of_the_policy_and_is_the_same_whatever_was_found() -> None:
    first, second, *_ = json.loads(gitlab.render(NOT_READY))
    assert first["location"] == {"path": "fingerprint-gate", "lines": {"begin": 1}}
    assert second["location"] == {"path": "policies/quiet, fast.toml", "lines": {"begin": 12}}
    moved = msgspec.structs.replace(NOT_READY.checks[0], found=300, says="another reading")
    again = json.loads(gitlab.render(msgspec.structs.replace(NOT_READY, checks=(moved,))))
    assert again[0]["fingerprint"] == first["fingerprint"]


def test_where_all_is_well_the_report_is_empty() -> None:
    assert json.loads(gitlab.render(READY)) == []


# Markdown, by a parser of CommonMark with the tables of GitHub and GitLab.


def html(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def tags(text: str) -> set[str]:
    return set(re.findall(r"<(/?\w+)", re.sub(r"<!--.*?-->", "", html(text), flags=re.S)))


OURS = {"h3", "h4", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "code", "details",
        "summary", "hr"}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(text: str) -> None:
    for told in (hostile_diff(text), hostile_verdict(text), hostile_document(text)):
        assert {tag.lstrip("/") for tag in tags(_markdown(told))} <= OURS


def _markdown(told: Any) -> str:
    if isinstance(told, Verdict):
        return markdown.render_verdict(told)
    return markdown.render(told) if isinstance(told, Mapping) else markdown.render_diff(told)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r")))
def test_words_and_code_are_what_they_were(text: str) -> None:
    from fingerprint.words import clean

    shown = re.sub(r"<!--.*?-->|<[^>]*>", "", html(f"| a |\n| --- |\n| x{markdown.words(text)}y |"))
    assert f"x{clean(text)}y" in unescaped(shown)
    shown = re.sub(r"<[^>]*>", "", html(f"| a |\n| --- |\n| x {markdown.cell(f'x{text}y')} |"))
    assert f"x{clean(text)}y" in unescaped(shown)


def unescaped(shown: str) -> str:
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_diff_is_told_with_its_answer_suspects_and_next_step(case: Any) -> None:
    shown = unescaped(re.sub(r"<[^>]*>", "", html(markdown.render_diff(case))))
    assert case.headline in shown
    assert all(suspect.facts[0] in shown for suspect in case.suspects)
    assert all(step in shown for step in case.next)
    assert all(suspect.check in shown for suspect in case.suspects[: markdown.IN_FULL])  # to be copied as it stands


def test_rules_that_found_the_same_are_one_row_without_what_they_warn_of() -> None:
    [ok] = [check for check in READY.checks if check.state == "ok"][:1]
    alike = msgspec.structs.replace(READY, checks=(ok, msgspec.structs.replace(ok, rule="other")))
    told = markdown.render_verdict(alike)
    assert f"| `{ok.rule}`, `other` | {markdown.words(ok.says)} |" in told


def test_nobody_is_called_by_what_a_value_holds() -> None:
    assert "@<!-- -->octocat" in markdown.words("@octocat")
    assert markdown.code("`@octocat` | x") == "`` `@octocat` | x ``"
    assert markdown.cell("`@octocat` | x") == "`` `@octocat` \\| x ``"
