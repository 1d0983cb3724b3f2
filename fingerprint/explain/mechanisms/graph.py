"""What the mechanism graph is made of: facts move resources, and resources are what the phases of work wait for.

    process/*/env/OMP_NUM_THREADS  --rule "omp-threads"-->  cpu time  -->  host latency, start-up, any work
    gpu/*/power_limit              --rule "power-limit"-->  sm clock  -->  prefill, decode step, verify step, any work

A rule is data: which facts it sees, which resources they move, whether more of the value means more of the resource,
what must be seen for it to bind, how much it can explain at most, why, and who says so. Nothing here reads a run.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

Resource = Literal[
    "sm clock",
    "memory clock",
    "gpu compute",  # multiprocessors that a process has, tensor cores that its kernels use
    "gpu memory bandwidth",
    "gpu memory",  # what weights and the key-value cache fit in
    "kernel choice",  # which GPU kernel, graph or algorithm runs
    "launch latency",  # what it takes to hand a kernel to the GPU
    "gpu initialisation",  # until a GPU takes its first work
    "pcie link",
    "nvlink",
    "collective",  # all-reduce and its like, across GPUs
    "network",  # between hosts
    "cpu time",  # when a thread gets a CPU, and for how long
    "cpu clock",
    "wake latency",  # from an event to the thread that waits for it
    "page placement",  # on which memory node a page lies
    "page size",
    "host memory",
    "host memory bandwidth",
    "page cache",
    "storage",
    "system calls",
    "code",  # what is executed at all
    "workload",  # what is asked for
    "accept length",
    "availability",  # whether the device or the process is there at all
]
Phase = Literal[
    "prefill",
    "decode step",
    "verify step",
    "accept length",
    "start-up",
    "transfer",  # a copy or a collective that is measured by itself
    "host latency",
    "memory use",  # how much was taken, of a GPU's memory or the host's
    "completion",  # whether it came to its end at all: reached by what `breaks`
    "any work",  # a number that tells nothing of its phases, as a command's wall time
]
Reader = Literal["vllm", "sglang", "tensorrt-llm", "llama.cpp", "nccl", "rdma"]
"""Programs that read a variable or flag: engines, tests of NCCL, tests of RDMA."""
Letters = Literal["of an engine", "of a test", "of ranks", ""]
"""Whose flags of one letter: an engine's, those of a test of transfers, a launcher's of ranks, or nobody's."""
Way = Literal["more helps", "less helps", "either"]
Sign = Literal[
    "grew",  # a counter of what harms moved, in the worse run more
    "worked",  # a counter of what helps or harms moved, in either run more
    "reached",  # telemetry came to the limit
    "active",  # a flag was on in some share of the busy samples
    "lower",  # telemetry was lower in the run in which the limit is
    "carried",  # a link had traffic enough, of what it can carry, to be waited for
    "crossed",  # anything crossed a link at all: that nothing did speaks against it, and that something did for nothing
    "rerouted",  # traffic ceased in the run without the way, and grew there on another
]

OPERATIONS = r"conv(\d|olution|_|$)|gemm|mat_?mul|(^|_)linear(_|$)|batch_?norm|softmax"
"""What cuDNN, cuBLAS and the framework above them compute, as benchmarks of one operation are named."""


class Condition(msgspec.Struct, frozen=True):
    """What must be seen in the run for a rule to bind.

    facts: a glob of counters or telemetry, on the same item where both globs have `*` for it. says: in words.
    of: what `carried` and `rerouted` hold it against, on the same item: the most that it can be, or the other way.
    least: of what grew, in its unit and a second: below it a host at rest differs from itself by as much.
    """

    facts: str
    sign: Sign
    says: str
    of: str = ""
    least: float = 0.0


class Bound(msgspec.Struct, frozen=True):
    """How much a rule explains at most.

    by   `ratio`: time grows at most as the value's ratio; `observed`: as the ratio of what `facts` were in both runs
    """

    by: Literal["ratio", "observed"]
    facts: str
    says: str


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One mechanism.

    name       in `fingerprint explain NAME`
    sees       globs of the facts whose change may be the cause
    moves      what they move
    way        of the value: `more helps` where a larger one means more of the resource; `either`: both are on record
    best       the values of a word with which the resource is at its best, `present` and `absent` for an item: who goes
               from one of these to another value loses
    worst      the values with which it is at its worst, of more than can be listed
    scale      values in lower case, from those with which it is at its worst to the best: levels of logs
    mostly     of way, best and worst: the other way is on record as well, and rare
    phases     where only these are reached, although the resources serve others as well; empty: all that these reach.
               `memory use` is always reached by what moves memory
    binds      of several, one is enough; empty: always
    shows      what it shows in where it does harm; that none of it was seen says nothing, but of what is loud
    loud       hardly any harm goes without what it shows in: that none of it was seen speaks against it a little
    told_by    messages of programs (`fingerprint/said`) by which it shows; that none was printed says nothing
    between    GPUs, or nodes: of a GPU that is alone it moves nothing
    over_rdma  it is about what goes by an adapter of RDMA: where the machine has none, it moves nothing
    over_pcie  what of it goes over PCIe: `between GPUs` all that counts, `all` copies between host and GPU as well
    members    areas that tell what the value stands for: an image's packages. Where these were read in both runs, they
               are compared themselves, and the value is looked through
    read_by    the programs that read this variable or flag: another one does nothing with it; empty: any may
    letters    whose flags of one letter these are, of flags: what `-c` says to an engine, it says to no test
    breaks     whether it can end a run, not only slow it down: on record, or by what it is. `often`: as likely as that
    scripts    what a program of one's own calls in each step; an engine that serves brings its own instead
    operations whose numbers bear its name, as expressions: of a benchmark of one operation
    unused     most of what it sees takes no part in a run: other packages of an environment, drivers of other devices
    usual      the least and the most by which it made a time longer or shorter, as ratios of 1 or more, in incidents
               and measurements; None: nobody tells
    enough     of what runs out: the value from which on hardly anything waits for more; None: nobody can say
    bound      None: none is known
    beside     globs of facts that decide without having changed: shown beside the suspect
    why        mechanism, with figures where somebody measured them
    confirm    the cheapest experiment that tells whether it is the cause
    confirmed  incidents of this kind with a verified fix or a maintainer's word, of 303: a weak prior
    drifted    pairs, of 112 captures and dumps of one machine or fleet on which nobody looked for a cause, in which it
               differed (benchmarks/incidents/data/drift.jsonl); of packages, of 16 pairs of environments with one
               release of the engine and of torch (those of bumps.jsonl that were rebuilt)
    sources    incidents (by their address), manuals, kernel documentation
    """

    name: str
    sees: tuple[str, ...]
    moves: tuple[Resource, ...]
    way: Way = "either"
    best: tuple[str, ...] = ()
    worst: tuple[str, ...] = ()
    scale: tuple[tuple[str, ...], ...] = ()
    mostly: bool = False
    phases: tuple[Phase, ...] = ()
    binds: tuple[Condition, ...] = ()
    shows: tuple[Condition, ...] = ()
    loud: bool = False
    told_by: tuple[str, ...] = ()
    between: bool = False
    over_rdma: bool = False
    over_pcie: Literal["", "between GPUs", "all"] = ""
    members: tuple[str, ...] = ()
    read_by: tuple[Reader, ...] = ()
    letters: Letters = "of an engine"
    breaks: Literal["never", "seldom", "often"] = "never"
    scripts: bool = False
    operations: str = ""
    unused: bool = False
    usual: tuple[float, float] | None = None
    enough: float | None = None
    bound: Bound | None = None
    beside: tuple[str, ...] = ()
    why: str
    confirm: str
    confirmed: int = 0
    drifted: int = 0
    sources: tuple[str, ...] = ()


LEVELS = (
    ("trace",), ("detail", "verbose", "debug"), ("info",), ("warn", "warning", "version"), ("error",),
    ("critical", "fatal", "off"),
)  # fmt: skip
"""Of logs, from the loudest; words for one level stand together."""
SERVES: Mapping[Resource, Mapping[Phase, str]] = {
    "sm clock": {
        "prefill": "large matrix products are bound by arithmetic",
        "verify step": "several tokens at once need more arithmetic than one",
        "decode step": "small kernels, and all that is no memory access, run at this clock",
        "any work": "kernels run at this clock",
    },
    "memory clock": {
        "decode step": "each token reads all active weights once",
        "verify step": "each step reads all active weights once",
        "prefill": "long prompts read the key-value cache",
        "transfer": "copies read and write it",
        "any work": "kernels read and write memory",
    },
    "gpu compute": {
        "prefill": "bound by arithmetic",
        "verify step": "several tokens at once",
        "decode step": "fewer multiprocessors keep less memory traffic in flight",
        "any work": "kernels run on them",
    },
    "gpu memory bandwidth": {
        "decode step": "each token reads all active weights once",
        "verify step": "each step reads all active weights once",
        "prefill": "long prompts read the key-value cache",
        "any work": "kernels read and write memory",
    },
    "gpu memory": {
        "decode step": "a smaller cache preempts requests, or spills",
        "verify step": "as decode",
        "prefill": "a smaller cache recomputes prompts",
        "start-up": "what does not fit fails, or is loaded again",
        "memory use": "it is what is measured",
        "any work": "what does not fit is moved",
    },
    "kernel choice": {
        "prefill": "another kernel for the same product",
        "decode step": "another kernel, or a graph, for the same step",
        "verify step": "verification may run without the graph that plain decoding has",
        "start-up": "kernels are compiled, tuned and captured",
        "transfer": "another algorithm or protocol",
        "memory use": "workspaces, and intermediate results that are kept or not",
        "any work": "another kernel for the same work",
    },
    "launch latency": {
        "decode step": "hundreds of short kernels a step, where no graph holds them",
        "verify step": "as decode, and more where verification is not captured",
        "host latency": "the launch is the host's work",
        "any work": "short kernels wait to be launched",
    },
    "gpu initialisation": {
        "start-up": "each process waits until the driver has the GPU ready",
        "any work": "a command's time holds that of its start",
    },
    "pcie link": {
        "decode step": "tensor parallelism over PCIe, and weights that are read from the host",
        "verify step": "as decode",
        "prefill": "activations of a whole prompt cross it",
        "start-up": "weights are loaded through it",
        "transfer": "it is what is measured",
        "any work": "copies between host and GPU",
    },
    "nvlink": {
        "decode step": "tensor parallelism reduces twice a layer",
        "verify step": "as decode, with more bytes",
        "prefill": "activations of a whole prompt cross it",
        "transfer": "it is what is measured",
        "any work": "exchange between GPUs",
    },
    "collective": {
        "decode step": "two all-reduces a layer, bound by latency",
        "verify step": "as decode, with more bytes",
        "prefill": "all-reduces bound by bandwidth",
        "start-up": "communicators are built",
        "transfer": "it is what is measured",
        "any work": "ranks wait for each other",
    },
    "network": {
        "decode step": "ranks on several hosts",
        "verify step": "ranks on several hosts",
        "prefill": "caches and activations between hosts",
        "start-up": "weights from a remote store",
        "transfer": "it is what is measured",
        "host latency": "requests and answers cross it",
        "any work": "what comes from elsewhere",
    },
    "cpu time": {
        "decode step": "the scheduler and the launch run on a CPU between steps",
        "verify step": "sampling and acceptance run on a CPU between steps",
        "prefill": "tokenisation and batching",
        "start-up": "loading, compiling, capturing",
        "host latency": "it is what is waited for",
        "any work": "what runs on a CPU",
    },
    "cpu clock": {
        "decode step": "between steps the CPU is on the critical path",
        "verify step": "between steps the CPU is on the critical path",
        "start-up": "loading and compiling",
        "host latency": "everything on the host takes as much longer",
        "any work": "what runs on a CPU",
    },
    "wake latency": {
        "decode step": "each step ends with a thread that is woken",
        "verify step": "each step ends with a thread that is woken",
        "start-up": "thousands of short waits",
        "host latency": "it is part of it",
        "any work": "whatever waits is woken",
    },
    "page placement": {
        "decode step": "pinned buffers and offloaded weights on another node",
        "verify step": "pinned buffers on another node",
        "prefill": "staging buffers on another node",
        "start-up": "weights are copied from there",
        "transfer": "copies cross the sockets' link",
        "host latency": "every access crosses the sockets' link",
        "any work": "memory accesses cross the sockets' link",
    },
    "page size": {
        "memory use": "a huge page is taken whole",
        "start-up": "page faults while loading",
        "host latency": "misses of the translation buffer, and stalls of compaction",
        "decode step": "as the host's latency, and all of it where the CPU decodes",
        "verify step": "as decode",
        "any work": "misses of the translation buffer",
    },
    "host memory": {
        "memory use": "it is what is measured",
        "start-up": "weights are read into it",
        "host latency": "reclaim and swap stop threads",
        "decode step": "offloaded weights that no longer fit are read from disk",
        "verify step": "as decode",
        "any work": "reclaim and swap stop threads",
    },
    "host memory bandwidth": {
        "decode step": "offloaded weights are read from there",
        "verify step": "as decode",
        "start-up": "weights pass through it",
        "transfer": "copies pass through it",
        "any work": "what reads memory",
    },
    "page cache": {
        "start-up": "weights come from memory or from disk",
        "decode step": "weights that are mapped from a file",
        "verify step": "as decode",
        "any work": "files that are read again",
    },
    "storage": {"start-up": "weights and caches are read from it", "any work": "files that are read and written"},
    "system calls": {
        "start-up": "files are opened, memory is mapped",
        "host latency": "each one is paid by the thread that makes it",
        "decode step": "clocks are read and threads are woken between steps",
        "verify step": "as decode",
        "any work": "whatever talks to the kernel",
    },
    "code": {
        "prefill": "other code",
        "decode step": "other code",
        "verify step": "other code",
        "accept length": "another draft, another way to accept",
        "start-up": "other code",
        "transfer": "other code",
        "memory use": "other code",
        "host latency": "other code",
        "any work": "other code",
    },
    "workload": {
        "prefill": "other prompts",
        "decode step": "another batch, another context",
        "verify step": "another batch, another context",
        "accept length": "other text is guessed better or worse",
        "start-up": "another model",
        "transfer": "other sizes",
        "memory use": "other models, longer sequences",
        "host latency": "more to do",
        "any work": "another amount of work",
    },
    "accept length": {
        "accept length": "it is what is measured",
        "decode step": "tokens a step",
        "any work": "tokens a step",
    },
    "availability": {
        "prefill": "what ran there has to run elsewhere",
        "decode step": "what ran there has to run elsewhere",
        "verify step": "what ran there has to run elsewhere",
        "start-up": "it does not start, or starts elsewhere",
        "transfer": "a route is missing",
        "host latency": "the others do its work",
        "any work": "the others do its work",
    },
}
"""Which phases wait for a resource, and why."""
