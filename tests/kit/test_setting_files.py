"""What a file of settings gives: of YAML the plain kind, and JSON."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.facts import Redacted
from probes.kit.redact import Redactor
from probes.kit.setting_files import settings

YAML = """\
# of a server
---
model: org/name  # which
host: "127.0.0.1"
alias: 'it''s'
port: 6379
kv_cache_config:
  dtype: fp8

  deeper:
    free: 0.9
cuda_graph_config: {"enable": true}
compilation-config.level: 3
sizes: [1, 2, 4]
loras:
- a=/x
- b=/y
stops:
  - one
  - "two # words"
nothing:
"""


def test_keys_are_told_by_their_path() -> None:
    assert settings(YAML) == {
        "model": ("org/name",),
        "host": ("127.0.0.1",),
        "alias": ("it's",),
        "port": ("6379",),
        "kv_cache_config.dtype": ("fp8",),
        "kv_cache_config.deeper.free": ("0.9",),
        "cuda_graph_config": ('{"enable": true}',),
        "compilation-config.level": ("3",),
        "sizes": ("1", "2", "4"),
        "loras": ("a=/x", "b=/y"),
        "stops": ("one", "two # words"),
        "nothing": (),
    }


def test_json_is_told_in_the_same_way() -> None:
    text = json.dumps({"model": "m", "tp": 2, "trust": True, "kv": {"dtype": "fp8", "sizes": [1, 2]}})
    assert settings(text) == {
        "model": ("m",), "tp": ("2",), "trust": ("true",), "kv.dtype": ("fp8",), "kv.sizes": ("1", "2"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  hunter2\n", "a: >-\n  hunter2", "- a: hunter2", "a:\n- b: hunter2", "a: &x hunter2", "a: *x",
        "a: !!str hunter2", "root:$6$hunter2:20228:0:99999:7:::", "a: [hunter2,\n  2]", 'a: "hunter2\n  more"',
        "\ta: hunter2", "hunter2", "- hunter2", '{"a": hunter2', '{"a":' * 99_999, '{"a":' * 99 + "1" + "}" * 99,
    ],
)  # fmt: skip
def test_what_is_told_in_another_form_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d|JSON|deeper|truncated") as refused:
        settings(text)
    assert "hunter2" not in str(refused.value)


@given(st.text(st.sampled_from("ab:-# \n\"'[]{},|&")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert all(isinstance(value, str) for values in settings(text).values() for value in values)


@pytest.mark.parametrize(
    "text", ["api-key: hunter2", "api_key: [k1, hunter2]", '{"auth": {"token": "hunter2"}}', "a: --token hunter2"]
)
def test_a_secret_is_redacted_by_its_key_or_its_shape(text: str) -> None:
    [values] = Redactor(b"k").settings(text).items.values()
    assert isinstance(values, tuple)
    assert isinstance(values[-1], Redacted)


def test_a_mark_of_byte_order_is_no_part_of_the_first_key() -> None:
    assert settings("\ufeffa: 1\n") == settings("a: 1\n")
    assert settings('\ufeff{"a": 1}') == settings("a: 1\n")
