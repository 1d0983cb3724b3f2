"""Fixtures of the kit's tests."""

import pytest

from tests.kit.nvml_staged import answering_everything
from tests.nvml.scenario import Scenario


@pytest.fixture
def everything() -> Scenario:
    return answering_everything()
