"""What NCCL's log tells about the groups of ranks that it connected."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from probes.kit.facts import Gap, Seen
from probes.kit.lazy import lazy_regex
from probes.nccl.sections import Communicator

UNTOLD = Gap("absent", "the log does not tell")

_INIT = lazy_regex(r"(?:\[Rank \d+\] )?(?:\w+ )?comm \S+ rank (\d+) nranks (\d+) .*- Init (START|COMPLETE)")
_PLACE = lazy_regex(r"comm \S+ rank \d+ nRanks \d+ nNodes (?P<nodes>\d+) localRanks (?P<local_ranks>\d+)")
_VIA = lazy_regex(r"Channel \d+(?:/\d+)? : \d+\[\w+\] -> \d+\[\w+\] (?:\[(?:send|receive)\] )?via (.+)")
_RING = lazy_regex(r"Channel (\d+)/\d+ :((?:\s+\d+)+)$")
_TREES = lazy_regex(r"Trees (\[\d+\] .+)")
_CHANNELS = lazy_regex(
    r"(?P<coll_channels>\d+) coll channels, (?:(?P<collnet_channels>\d+) collnet channels, )?"
    r"(?:(?P<nvls_channels>\d+) nvls channels, )?(?P<p2p_channels>\d+) p2p channels"
)
_CONNECTED = lazy_regex(r"Connected all rings, use ring PXN (?P<pxn>\d) GDR (?P<gdr>\d)")
_P2P = lazy_regex(r"Check P2P Type (?:intraNodeP2pSupport|isAllDirectP2p) (?P<p2p_support>\d)")
_NUMBERS = (_PLACE, _CHANNELS)
_SWITCHES = (_CONNECTED, _P2P)


class _Group:
    """One communicator of the log as far as it was read. rank, ranks: None until the log says."""

    def __init__(self, rank: int | None = None, ranks: int | None = None) -> None:
        self.rank = rank
        self.ranks = ranks
        self._numbers: dict[str, int] = {}
        self._transports: set[str] = set()
        self._rings: dict[int, str] = {}
        self._trees: tuple[str, ...] = ()

    def take(self, text: str) -> bool:
        """Whether the line is about a communicator."""
        for pattern in (*_NUMBERS, *_SWITCHES):
            if match := pattern.match(text):
                self._numbers.update({name: int(number) for name, number in match.groupdict().items() if number})
                return True
        if match := _VIA.match(text):
            self._transports.add(match[1])
        elif match := _RING.match(text):
            self._rings[int(match[1])] = " ".join(match[2].split())
        elif match := _TREES.match(text):
            self._trees = tuple(re.split(r" (?=\[)", match[1]))
        else:
            return False
        return True

    def section(self) -> Communicator:
        return Communicator(
            nodes=self._number("nodes"),
            local_ranks=self._number("local_ranks"),
            transports=tuple(sorted(self._transports)) or UNTOLD,
            coll_channels=self._number("coll_channels"),
            collnet_channels=self._number("collnet_channels"),
            nvls_channels=self._number("nvls_channels"),
            p2p_channels=self._number("p2p_channels"),
            rings=tuple(self._rings[channel] for channel in sorted(self._rings)) or UNTOLD,
            trees=self._trees or UNTOLD,
            p2p_support=self._switch("p2p_support"),
            pxn=self._switch("pxn"),
            gdr=self._switch("gdr"),
        )

    def _number(self, name: str) -> Seen[int]:
        return self._numbers.get(name, UNTOLD)

    def _switch(self, name: str) -> Seen[bool]:
        return self._numbers[name] != 0 if name in self._numbers else UNTOLD


class Groups:
    """The communicators of one process, told apart by thread and time, since few lines name theirs.

    starts: whether this log tells where each begins (`Init START`, since NCCL 2.19). Else one begins with the first
    line behind the `Init COMPLETE` of the last.
    """

    def __init__(self, starts: bool) -> None:
        self._starts = starts
        self._groups: list[_Group] = []
        self._of_thread: dict[str, _Group] = {}
        self._complete: set[str] = set()

    def take(self, thread: str, text: str) -> bool:
        """Whether the line is about a communicator."""
        if match := _INIT.match(text):
            self._init(thread, int(match[1]), int(match[2]), match[3])
            return True
        if _Group().take(text):
            return self._current(thread).take(text)
        return False

    def _init(self, thread: str, rank: int, ranks: int, moment: str) -> None:
        if moment == "START":
            self._begin(thread, _Group(rank, ranks))
            return
        group = self._current(thread)
        group.rank, group.ranks = rank, ranks
        self._complete.add(thread)

    def _current(self, thread: str) -> _Group:
        """A thread of which no beginning was told connects what the process built last."""
        if self._starts:
            group = self._of_thread.get(thread) or (self._groups[-1] if self._groups else None)
        else:
            group = None if thread in self._complete else self._of_thread.get(thread)
        return group or self._begin(thread, _Group())

    def _begin(self, thread: str, group: _Group) -> _Group:
        self._complete.discard(thread)
        self._of_thread[thread] = group
        self._groups.append(group)
        return group

    def sections(self) -> Mapping[str, Communicator]:
        told = [group for group in self._groups if group.ranks is not None]
        return {key: group.section() for key, group in zip(_keys(told), told, strict=True)}


def _keys(groups: Sequence[_Group]) -> list[str]:
    """`8-2` is the second of 8 ranks. A process of several GPUs has several ranks of one: `8-1-rank3`."""
    times: Counter[tuple[int | None, int | None]] = Counter()
    ranks_of_size = Counter(ranks for _, ranks in {(group.rank, group.ranks) for group in groups})
    keys = []
    for group in groups:
        times[group.rank, group.ranks] += 1
        rank = f"-rank{group.rank}" if ranks_of_size[group.ranks] > 1 else ""
        keys.append(f"{group.ranks}-{times[group.rank, group.ranks]}{rank}")
    return keys
