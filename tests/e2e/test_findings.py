"""What a server's own processes show to be odd: told of one run, and of the run that alone shows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_servers import ranks, record, shown
from tests.standin import StandIn

NUMBERED: Mapping[str, Any] = {
    f"sglang__scheduler_TP{rank}": {"env": {"CUDA_VISIBLE_DEVICES": str(rank)}} for rank in range(4)
}


@pytest.fixture
def server(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path, "sglang", size=4)


def test_a_variable_that_never_reached_a_rank(fingerprint: Cli, server: StandIn) -> None:
    server.differ(**NUMBERED)
    record(fingerprint, "well", server, ranks(server), NCCL_P2P_LEVEL="SYS")
    assert shown(fingerprint, "well")["findings"] == []

    lacking = {**NUMBERED["sglang__scheduler_TP3"], "unset": ["NCCL_P2P_LEVEL"]}
    server.differ(**{**NUMBERED, "sglang__scheduler_TP3": lacking})
    record(fingerprint, "odd", server, ranks(server), NCCL_P2P_LEVEL="SYS")
    [finding] = shown(fingerprint, "odd")["findings"]
    rank = f"sglang-{server.port}.tp3"
    assert (finding["rule"], finding["about"]) == ("variable-lost-on-the-way", "NCCL_P2P_LEVEL")
    assert finding["says"] == "main has NCCL_P2P_LEVEL=SYS, and tp3 is without it."
    assert finding["values"][rank] == {"gap": "absent"}
    assert "main has NCCL_P2P_LEVEL=SYS, and tp3 is without it." in fingerprint("show", "odd").stdout

    diff = fingerprint.diff("well", "odd", status=1)
    [told] = diff["findings"]
    assert (told["side"], told["suspect"], told["finding"]) == ("b", 1, finding)
    assert diff["suspects"][0]["facts"] == [f"process/{rank}/env/NCCL_P2P_LEVEL"]
    assert f"In odd alone: {finding['says']}" in [it["says"] for it in diff["suspects"][0]["evidence"]]
