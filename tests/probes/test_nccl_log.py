"""What NCCL's own log tells: lines in the form of NCCL 2.10 to 2.30, of made-up machines."""

import os
from pathlib import Path

import msgspec
import pytest

from fingerprint.sections import decoder_of
from probes.kit.facts import Gap, Map, Redacted
from probes.kit.redact import Redactor
from probes.nccl.communicators import UNTOLD
from probes.nccl.log import told
from probes.nccl.sections import Communicator, Log

CORPUS = os.environ.get("FINGERPRINT_CORPUS")
P = "h1:7:7 [0] NCCL INFO "
SERVER = f"""
h1:7:7 [0] NCCL INFO NCCL_PROTO set by environment to LL
{P}NCCL_CUMEM_ENABLE set by environment to 0.
{P}cudaDriverVersion 12090
{P}Bootstrap: Using eth0:192.0.2.1<0>
{P}NCCL version 2.26.2+cuda12.2
{P}NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.
{P}NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>
{P}NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
{P}NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'
{P}Using network IB
{P}ncclCommInitRank comm 0xa1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 5000 commId 0x17 - Init START
[2025-07-09 00:57:25] h1:7:7 [0] graph/search.cc:1127 NCCL WARN Could not find a path for pattern 4, falling back
[2025-07-09 00:57:25] h1:7:7 [0] graph/search.cc:1127 NCCL WARN Could not find a path for pattern 1, falling back
{P}comm 0xa1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0
{P}Channel 01/02 : 1 0
{P}Channel 00/02 : 0 1
{P}Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1
{P}P2P Chunksize set to 131072
{P}Check P2P Type intraNodeP2pSupport 0 directMode 0
{P}Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
{P}Channel 01 : 0[0] -> 1[1] via P2P/CUMEM/read
{P}Connected all rings, use ring PXN 0 GDR 1
{P}2 coll channels, 4 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer
{P}TUNER/Plugin: Using tuner plugin nccl_ofi_tuner
{P}ncclCommInitRank comm 0xa1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 5000 commId 0x17 - Init COMPLETE
{P}ncclCommInitRankConfig comm 0xa2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 5000 commId 0x18 - Init START
{P}24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer
{P}ncclCommInitRankConfig comm 0xa2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 5000 commId 0x18 - Init COMPLETE
h1:7:99 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[1] [send] via NET/IB/1/GDRDMA
{P}AllReduce: 33554432 Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..31}}
{P}AllReduce: 30000000 Bytes -> Algo NVLS proto SIMPLE channel{{Lo..Hi}}={{0..15}}
{P}AllReduce: 512 Bytes -> Algo TREE proto LL channel{{Lo..Hi}}={{0..0}}
h1:8:8 [1] NCCL INFO Using network Socket
h1:8:8 [1] NCCL INFO ncclCommInitRank comm 0xa1 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 6000 commId 0x17 - Init START
""".replace("falling back", "falling back to simple order")


def read(text: str, pid: int | None = 7) -> Log:
    """As one that came through a strict decode."""
    return decoder_of(Log)(msgspec.json.encode(told(text, Redactor(b"k"), pid)))


def test_what_the_process_found_is_told_without_addresses() -> None:
    log = read(SERVER)
    assert (log.version, log.network) == ("2.26.2+cuda12.2", "IB")
    assert log.adapters == ("mlx5_0:1/RoCE", "mlx5_1:1/IB")
    assert log.gdr_adapters == Map({"mlx5_0": False, "mlx5_1": True})
    assert log.plugins == Map({"net": "internal", "tuner": "nccl_ofi_tuner"})
    assert b"192.0.2.1" not in msgspec.json.encode(log)


def test_what_was_asked_stands_as_nccl_took_it() -> None:
    assert read(SERVER).set_by_environment == Map({"NCCL_PROTO": "LL", "NCCL_CUMEM_ENABLE": "0"})


def test_a_warning_counts_once_whatever_its_numbers_are() -> None:
    assert read(SERVER).warnings == ("Could not find a path for pattern N, falling back to simple order",)


def test_choices_are_told_by_operation_and_size_up_to_a_power_of_two() -> None:
    assert read(SERVER).choices == Map({"AllReduce 33554432": "NVLS/SIMPLE, RING/SIMPLE", "AllReduce 512": "TREE/LL"})


def test_each_communicator_has_what_stands_between_its_start_and_its_end() -> None:
    communicators = read(SERVER).communicators
    assert isinstance(communicators, Map)
    assert list(communicators.items) == ["2-1", "2-2"]
    first, second = communicators.items.values()
    assert first == Communicator(
        nodes=1,
        local_ranks=2,
        transports=("P2P/CUMEM/read", "SHM/direct/direct"),
        coll_channels=2,
        collnet_channels=4,
        nvls_channels=0,
        p2p_channels=8,
        rings=("0 1", "1 0"),
        trees=("[0] 1/-1/-1->0->-1", "[1] -1/-1/-1->0->1"),
        p2p_support=False,
        pxn=False,
        gdr=True,
    )
    assert (second.coll_channels, second.nvls_channels, second.rings) == (24, 16, UNTOLD)


def test_a_connection_at_the_first_use_is_of_what_the_process_built_last() -> None:
    communicators = read(SERVER).communicators
    assert isinstance(communicators, Map)
    assert communicators.items["2-2"].transports == ("NET/IB/1/GDRDMA",)


def test_of_a_file_that_several_processes_write_each_has_its_own_lines() -> None:
    other = read(SERVER, 8)
    assert (other.network, other.version) == ("Socket", UNTOLD)
    assert isinstance(other.communicators, Map)
    assert list(other.communicators.items) == ["2-1"]


def test_a_process_of_several_gpus_has_a_communicator_of_each_rank() -> None:
    lines = "".join(
        f"h:7:{thread} [{rank}] NCCL INFO ncclCommInitRank comm 0x{rank} rank {rank} nranks 2 cudaDev 0 - Init START\n"
        for thread, rank in ((20, 0), (21, 1))
    )
    communicators = read(lines).communicators
    assert isinstance(communicators, Map)
    assert list(communicators.items) == ["2-1-rank0", "2-1-rank1"]


OLD = """
h:7:9 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1|-1->0->1/-1/-1
h:7:9 [0] NCCL INFO Channel 00 : 0[1a000] -> 1[3d000] via P2P/IPC
h:7:9 [0] NCCL INFO 2 coll channels, 2 p2p channels, 2 p2p channels per peer
h:7:9 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1a000 - Init COMPLETE
h:7:9 [0] NCCL INFO Channel 00 : 0[1a000] -> 4[1a000] [receive] via NET/Socket/0
h:7:9 [0] NCCL INFO comm 0x2 rank 0 nranks 8 cudaDev 0 busId 1a000 - Init COMPLETE
h:7:9 [0] NCCL INFO 64 Bytes -> Algo 1 proto 2 time 9.0
NCCL version 2.10.3+cuda11.3
"""


def test_a_log_before_init_start_is_cut_behind_each_completion() -> None:
    log = read(OLD)
    assert isinstance(log.communicators, Map)
    told_of = {key: one.transports for key, one in log.communicators.items.items()}
    assert told_of == {"2-1": ("P2P/IPC",), "8-1": ("NET/Socket/0",)}
    assert (log.version, log.choices) == ("2.10.3+cuda11.3", Map({"any 64": "RING/SIMPLE"}))


def test_a_containers_passing_adapters_are_alike_in_every_run() -> None:
    found = "[0]eno1:192.0.2.6<0> [1]br-3c276cd5dbc3:192.0.2.8<0> [2]veth268d912:fe80::1%v<0>"
    assert read(f"{P}NET/Socket : Using {found}").adapters == ("eno1", "br-*", "veth*")


def test_a_secret_in_a_value_or_a_warning_leaves_as_a_digest() -> None:
    text = (
        f"{P}NCCL_X set by environment to https://me:word@example.org/\n"
        "h1:7:7 [0] net.cc:1 NCCL WARN no route to https://me:word@example.org/\n"
    )
    log = read(text)
    assert b"word" not in msgspec.json.encode(log)
    assert isinstance(log.set_by_environment, Map)
    assert isinstance(log.set_by_environment.items["NCCL_X"], Redacted)


@pytest.mark.parametrize(
    "text", ["", "no line of NCCL\n", "h:7:7 [0] NCCL INFO \n", "h:7:7 [0] NCCL INFO Channel 00 : x\n"]
)
def test_what_the_log_does_not_tell_is_a_gap_and_no_zero(text: str) -> None:
    log = read(text)
    assert log.version == log.network == log.adapters == UNTOLD
    assert isinstance(log.choices, Gap)
    assert log.communicators == Map({})


@pytest.mark.skipif(not CORPUS, reason="FINGERPRINT_CORPUS names no folder of real files")
def test_real_logs_tell_version_and_transports() -> None:
    folder = Path(CORPUS or "") / "raw/nccl"
    log = read((folder / "vx_vllm_20670_nccl.log").read_text(), 213)
    assert (log.version, log.network) == ("2.26.2+cuda12.2", "Socket")
    assert isinstance(log.communicators, Map)
    assert log.communicators.items["2-1"].transports == ("SHM/direct/direct",)
    assert log.set_by_environment == Map({"NCCL_CUMEM_ENABLE": "0"})
    for path in folder.iterdir():
        read(path.read_text(errors="backslashreplace"), None)
