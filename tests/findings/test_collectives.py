"""Settings of NCCL that its log does not confirm."""

import pytest

from probes.kit.facts import Gap, Map
from probes.nccl.sections import Log, Nccl
from tests.findings.servers import found

LOGGED = {"NCCL_PROTO": "LL", "NCCL_P2P_LEVEL": "3"}


def asked(took: dict[str, str] | Gap, network: str = "Socket", **variables: str) -> list[str]:
    log = Log(
        version="2.27.3+cuda12.9", network=network, set_by_environment=took if isinstance(took, Gap) else Map(took)
    )
    sections = {f"nccl/sglang-30000.tp{rank}": Nccl(variables=Map(variables), log=log) for rank in range(2)}
    return [finding.says for finding in found(sections)]


def test_a_name_that_this_release_does_not_have() -> None:
    [says] = asked(LOGGED, NCCL_PROTO="LL", NCCL_PROTOCOL="Simple")
    assert says.startswith("sglang-30000.tp0, sglang-30000.tp1 asked for NCCL_PROTOCOL=Simple, and NCCL's log does not")


def test_a_value_that_was_understood_otherwise() -> None:
    assert asked(LOGGED, NCCL_PROTO="Simple") == [
        "sglang-30000.tp0, sglang-30000.tp1 asked for NCCL_PROTO=Simple, and NCCL's log took LL."
    ]


def test_a_number_may_be_written_in_any_base() -> None:
    assert asked(LOGGED, NCCL_P2P_LEVEL="0x3", NCCL_PROTO="ll") == []


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_VERSION", "NCCL_ASYNC_ERROR_HANDLING"])
def test_what_nccl_never_logs_is_not_missed(name: str) -> None:
    assert asked(LOGGED, **{name: "1"}) == []


def test_what_another_network_would_read_is_not_missed() -> None:
    assert asked(LOGGED, NCCL_IB_HCA="mlx5_0") == []
    assert len(asked(LOGGED, network="IB", NCCL_IB_HCA="mlx5_0")) == 1


def test_a_name_that_the_library_does_not_hold_is_told_once() -> None:
    log = Log(version="2.27.3", set_by_environment=Map({"NCCL_PROTO": "LL"}))
    nccl = Nccl(variables=Map({"NCCL_PROTO": "LL", "NCCL_PROTOCOL": "LL"}), unknown=("NCCL_PROTOCOL",), log=log)
    [finding] = found({"nccl/main": nccl, "nccl/main.python.1": nccl})
    assert finding.identity == ("variable-not-read", "NCCL_PROTOCOL")
    assert finding.says.startswith(
        "NCCL_PROTOCOL is set in main, main.python.1, and neither the NCCL that is mapped nor"
    )
    assert finding.values == {"main": "LL", "main.python.1": "LL"}


def test_a_log_that_does_not_tell_variables_says_nothing() -> None:
    assert asked({}, NCCL_DEBUG_SUBSYS="TUNING", NCCL_PROTO="LL") == []
    assert asked(Gap("absent"), NCCL_PROTO="LL") == []
    assert len(asked({}, NCCL_PROTO="LL")) == 1
    assert len(asked({}, NCCL_DEBUG_SUBSYS="INIT,ENV", NCCL_PROTO="LL")) == 1
