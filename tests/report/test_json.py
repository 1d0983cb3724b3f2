"""The JSON is the contract, and its published schema tells the truth about it."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from fingerprint.explain.contract import Contract, Diff
from fingerprint.report.json import render, schema
from tests.report.cases import CASES


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_diff_is_valid_by_the_published_schema_and_loads_back(case: Diff) -> None:
    text = render(case)
    jsonschema.validate(json.loads(text), schema(Diff), cls=jsonschema.Draft202012Validator)
    assert msgspec.json.decode(text, type=Diff) == case


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema(Diff))
    assert schema(Diff)["$id"] == "urn:fingerprint:diff:1"


def test_the_schema_has_every_part_of_the_contract_and_its_words() -> None:
    defined = schema(Diff)["$defs"]
    for part in Contract.__subclasses__():
        assert defined[part.__name__]["required"] == list(part.__struct_fields__)
    assert defined["Suspect"]["description"].startswith("One changed state that can have moved the number.")


@pytest.mark.parametrize(("field", "value"), [("schema", "fingerprint.diff/2"), ("metrics", {}), ("headline", None)])
def test_what_is_not_the_contract_is_refused(field: str, value: Any) -> None:
    broken = json.loads(render(CASES["one-suspect"])) | {field: value}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema(Diff))
