"""Flags of tests of collectives and of RDMA: sizes, operations, ranks, buffers, what is in flight, how it is timed."""

from fingerprint.explain.mechanisms.graph import Phase, Rule
from fingerprint.explain.mechanisms.server_flags import flag

_NCCL_TESTS = "https://github.com/NVIDIA/nccl-tests/blob/master/README.md"
_PERFTEST = "https://github.com/linux-rdma/perftest/blob/master/README"
_TESTED: tuple[Phase, ...] = ("transfer", "any work")

RULES: tuple[Rule, ...] = (
    Rule(
        name="transfer-test-sizes",
        letters="of a test",
        sees=flag(
            "-b --minbytes -e --maxbytes -i --stepbytes -f --stepfactor -s --size -a --all --message-size --bufferSize"
        ),
        moves=("workload",),
        phases=_TESTED,
        breaks="seldom",
        usual=(1.1, 6.7),
        why="Small messages measure latency, large ones bandwidth, and a mean over all sizes is moved by which were in "
        "it: of one all-reduce 64 KiB went at 1.26 GB/s and 128 MiB at 8.36.",
        confirm="Compare lines of one size only",
        sources=(_NCCL_TESTS, "https://github.com/NVIDIA/nccl/issues/644"),
    ),
    Rule(
        name="transfer-test-operation",
        letters="of a test",
        sees=flag(
            "-o --op -d --datatype -r --root --bidirectional --write-with-imm -A --atomic-type"
            " --device-implementation --device-cta-count --local-register --testcase"
        ),
        moves=("workload", "collective"),
        phases=_TESTED,
        breaks="seldom",
        why="What is sent: the reduction and its number format, the root, one way or both, by which verb, by the "
        "host's call or from a kernel. Both ways at once share the link of the host.",
        confirm="The same with the other run's operation",
        sources=(_NCCL_TESTS, _PERFTEST),
    ),
    Rule(
        name="transfer-test-ranks",
        letters="of a test",
        sees=flag("-g --ngpus -t --nthreads -p --parallel-init"),
        moves=("collective", "cpu time", "gpu memory"),
        phases=(*_TESTED, "start-up"),
        between=True,
        breaks="often",
        beside=("gpu/*/nvlink/active", "gpu/*/peers/*/p2p_read"),
        why="How many GPUs take part, and whether a process, a thread or a loop serves each: more steps around a ring, "
        "other links, and launches one after the other where one thread serves all. Bandwidths are comparable as "
        "busbw only.",
        confirm="busbw instead of algbw; one process for each GPU in both runs",
        sources=(_NCCL_TESTS,),
    ),
    Rule(
        name="transfer-test-timing",
        letters="of a test",
        sees=flag(
            "-n --iters -w --warmup-iters -m --agg-iters --average -G --cudagraph -c --check -D --duration --margin"
            " --run-infinitely --perform-warm-up --no-peak --noPeak -N --report-cputime --report-gbits --report-both"
            " --report-per-port --unalign"
        ),
        moves=("workload", "launch latency"),
        phases=_TESTED,
        why="What is timed: how many repetitions, how many of them before the clock starts, calls that go out together "
        "or as a graph, the slowest rank or the mean of all, the best window or all of it. Gigabits are eight times "
        "gigabytes.",
        confirm="More repetitions in both runs; the same flags",
        sources=(_NCCL_TESTS, _PERFTEST),
    ),
    Rule(
        name="transfer-test-waits",
        letters="of a test",
        sees=flag("--events --use-event --cqe-poll --blocking --cpu-util"),
        moves=("network", "wake latency", "cpu time"),
        phases=(*_TESTED, "host latency"),
        beside=("cpu/policies/*/scaling_governor",),
        why="Who waits by asking without end sees a message at once. Who sleeps until an interrupt comes pays for it "
        "and for the CPU that has to wake: microseconds on a latency of one or two.",
        confirm="The same with polling",
        sources=(_PERFTEST, _NCCL_TESTS),
    ),
    Rule(
        name="transfer-test-depth",
        letters="of a test",
        sees=flag(
            "--tx-depth --rx-depth -t -q --qp -l --post-list --recv-post-list -Q --cq-mod --inline-size -I --outs"
            " --mtu --use-srq --rate-limit --burst-size --dualport -O --mr-per-qp --ooo --use-old-post-send"
        ),
        moves=("network",),
        phases=_TESTED,
        over_rdma=True,
        breaks="seldom",
        why="How much is under way at once: queue pairs, entries of a queue, the size of a packet, posts at a time. "
        "One queue with few entries does not fill 200 Gb/s and more, and a rate that was set is kept.",
        confirm="The same with four queue pairs, 8 MiB messages and no rate",
        sources=(_PERFTEST, "https://github.com/linux-rdma/perftest/issues/252"),
    ),
    Rule(
        name="transfer-test-buffers",
        letters="of a test",
        sees=flag(
            "--use-cuda --use-cuda-* --use-rocm* --use-hugepages --memory-type --odp --gpu-touch --use-data-direct"
            " --use-null-mr --cuda-mem-type --disable-pcie-relaxed --payload-file-path"
        ),
        moves=("pcie link", "network", "page placement"),
        phases=_TESTED,
        over_rdma=True,
        breaks="often",
        usual=(1.05, 2.1),
        beside=("gpu/*/pcie/numa_node", "kernel/modules/nvidia_peermem/version"),
        why="Memory of a GPU is reached by the adapter over PCIe, through a switch or through the CPU's root: 11 "
        "against 23 GB/s from the host's memory, across a socket. It needs a module or DMA-BUF, else it fails.",
        confirm="nvidia-smi topo -m between GPU and adapter; the same from the host's memory",
        sources=(_PERFTEST, "https://github.com/linux-rdma/perftest/issues/241"),
    ),
    Rule(
        name="rdma-adapter-flags",
        letters="of a test",
        sees=flag(
            "--ib-dev --ib-port --gid-index -x -S --sl --tclass --flow-label --connection --rdma-cm --comm-rdma-cm"
            " --ipv6-addr --bind-source-ip --mooncake-ib-device --disaggregation-ib-device --net-devices"
        ),
        moves=("network", "pcie link"),
        phases=(*_TESTED, "prefill", "start-up"),
        over_rdma=True,
        breaks="often",
        beside=("gpu/*/pcie/numa_node",),
        why="Which adapter, port and address a connection uses, and in which traffic class: another one hangs on "
        "another socket, has another rate, or is RoCE of a version that the switch treats as any traffic.",
        confirm="ibv_devinfo for rate and state of that port; the same with the other run's adapter",
        sources=(_PERFTEST, "https://docs.sglang.io/advanced_features/server_arguments.html"),
    ),
    Rule(
        name="unknown-letters",
        sees=flag("-e -i -w -x -S -A -g -G -D -N -Q -I -O"),
        moves=("workload", "kernel choice", "launch latency", "gpu memory", "collective", "cpu time", "accept length"),
        breaks="often",
        beside=("process/*/operands",),
        why="A letter means something else to each program: outside of tests of collectives and of RDMA nobody knows "
        "what this one says. It may decide everything or nothing.",
        confirm="Start with the other run's value; the program's help tells what the letter stands for",
    ),
)
