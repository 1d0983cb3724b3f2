"""What the stack sent again and could not keep."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.host import Host
from probes.network.stack import counts_of, read_stack, turns
from tests.probes.network.machine import code
from tests.probes.tree import tree

SNMP = (
    "Ip: Forwarding\nIp: 1\nTcp: MaxConn OutSegs RetransSegs EstabResets\nTcp: -1 900 7 2\nUdp: RcvbufErrors\nUdp: 3\n"
)
NETSTAT = "TcpExt: ListenOverflows TCPTimeouts ListenDrops\nTcpExt: 4 5 6\n"
SOFTNET = "0000000f 00000002 00000001 00000000\n0000000f 00000001 0000000a 00000000\n"


def test_counters_are_found_by_their_names(tmp_path: Path) -> None:
    files = {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT, "/proc/net/softnet_stat": SOFTNET}
    found = read_stack(tree(tmp_path, files))
    tcp = found.tcp
    assert (tcp.out_segs, tcp.retrans_segs, tcp.estab_resets) == (900, 7, 2)
    assert (tcp.listen_overflows, tcp.timeouts, tcp.listen_drops) == (4, 5, 6)
    assert (found.udp.rcvbuf_errors, found.softnet.dropped, found.softnet.time_squeeze) == (3, 3, 11)
    assert (code(tcp.prune_called), code(found.udp.sndbuf_errors)) == ("unsupported", "unsupported")


def test_this_host_tells_all_of_them_as_numbers() -> None:
    found = read_stack(Host())
    for section in (found.tcp, found.udp, found.softnet):
        assert all(isinstance(getattr(section, name), int) for name in section.__facts__)


@pytest.mark.parametrize("text", ["Tcp: A B\nTcp: 1\n", "Tcp: A\nUdp: 1\n", "Tcp: A\n", "Tcp: A\nTcp: x\n"])
def test_names_and_numbers_that_do_not_fit_fail(tmp_path: Path, text: str) -> None:
    assert code(read_stack(tree(tmp_path, {"/proc/net/snmp": text})).tcp.retrans_segs) == "failed"


@given(st.text() | st.text(alphabet="Tcp: 01\n"))
def test_any_text_is_read_or_refused(text: str) -> None:
    """What a reader of files takes for a gap is ValueError and LookupError alone."""
    for parse in (counts_of, turns):
        with suppress(ValueError, LookupError):
            parse(text)
