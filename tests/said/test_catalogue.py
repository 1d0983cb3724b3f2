"""The messages that are known: each has a meaning, a source, and a rule that it shows or a reason why none."""

import re
import subprocess
import sys
from collections import Counter

import pytest

from fingerprint.explain.mechanisms import rules
from fingerprint.explain.reference import of_rule
from fingerprint.said.catalogue import CATALOGUE, THEMES
from fingerprint.said.message import Message
from fingerprint.said.scan import heard, piece_of

MESSAGES = tuple(CATALOGUE.values())
TOLD = Counter(message for rule in rules() for message in rule.told_by)


def test_each_message_has_an_id_of_its_own_in_kebab_case() -> None:
    assert len(CATALOGUE) == sum(len(theme.MESSAGES) for theme in THEMES)
    assert [it for it in CATALOGUE if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", it)] == []


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.id)
def test_each_message_says_what_it_means_and_who_says_so(message: Message) -> None:
    assert message.source.startswith("https://")
    assert message.says.strip(".") == message.says != ""


def test_each_message_that_a_rule_names_is_known() -> None:
    assert TOLD.keys() - CATALOGUE.keys() == set()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.id)
def test_each_message_is_named_by_a_rule_or_is_of_none_for_a_reason(message: Message) -> None:
    assert bool(TOLD[message.id]) is not bool(message.unnamed)
    assert (message.names == "failure") is bool(message.unnamed), "what tells of no state is no cause"


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.id)
def test_each_of_its_texts_is_heard_in_a_line_of_a_log(message: Message) -> None:
    for text in message.texts:
        line = b"(Worker_TP0 pid=50) WARNING 06-19 05:51:34 [a.py:103] " + text + b" " + message.also + b" ...\n"
        assert message.id in heard([b"ready\n", line]), text
        assert piece_of(text) in text


def test_explain_tells_by_which_messages_a_rule_shows() -> None:
    rule = next(rule for rule in rules() if rule.name == "shared-memory-size")
    assert "worker-shared-memory (`insufficient shared memory (shm)` or" in of_rule(rule).replace("\n", " ")


def test_who_reads_no_text_imports_no_message() -> None:
    said = "import sys, fingerprint.explain, fingerprint.runs.document, fingerprint.cli.collecting; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert {"fingerprint.said.catalogue", "fingerprint.said.scan"} & {*done.stdout.split()} == set()
