"""Diffs by name, each built by hand to show one part of a report."""

from collections.abc import Mapping
from typing import Any

from fingerprint.explain.contract import (
    SCHEMA,
    Arithmetic,
    Attempt,
    Beside,
    Blind,
    BreakEven,
    ChangedFact,
    Comparable,
    Contradiction,
    Diff,
    During,
    Evidence,
    Factor,
    Group,
    HeldUp,
    MetricChange,
    Neighbour,
    OneSided,
    OwnNoise,
    Pair,
    Range,
    Residual,
    RuledOut,
    Side,
    Spread,
    Suspect,
    Unexplained,
    Unknown,
)
from fingerprint.findings import Finding
from fingerprint.said.alone import Said

HUNG = "hung since 21:04:12"
FEW = "A: gpu busy in 39 of 41 samples; B: gpu busy in 2 of 40 samples"


def side(name: str, *, attempts: int = 1, **more: Any) -> Side:
    starts = tuple(
        Attempt(
            id=f"01J{name}{n}", attempt=n, started=f"2026-03-0{n} 21:04:11", ended="exited 0", epochs={"boot": "b1"}
        )
        for n in range(1, attempts + 1)
    )
    return Side(**{"name": name, "host": "h200-04", "command": "python serve.py --tp 8", "attempts": starts} | more)


def comparable(**more: Any) -> Comparable:
    same = {"same_host": True, "same_gpus": None, "same_workload": None, "same_command": True}
    return Comparable(
        **same | {"epochs_crossed": (), "says": "Same host and command; no workload was recorded."} | more
    )


def metric(name: str, verdict: Any, before: float, after: float, **more: Any) -> MetricChange:
    given = {
        "a": Spread(median=before, n=1, each=(before,)),
        "b": Spread(median=after, n=1, each=(after,)),
        "ratio": after / before if before else None,
        "ci": None,
        "says": "",
        "tail": None,
        "tail_is_odd": False,
    }
    return MetricChange(**{"name": name, "unit": "s", "better": "lower", "verdict": verdict} | given | more)


def suspect(rank: int, fact: str, before: Any, after: Any, **more: Any) -> Suspect:
    empty: dict[str, Any] = {
        "unit": "", "on": "", "which": (), "likelihood": "possible", "score": 0.5, "parts": {"prior": 0.5}, "rules": (),
        "reaches": True, "explains": None,
        "explains_why_not": "no bound known", "mechanism": (), "evidence": (), "against": (), "beside": (),
        "consequences": (), "bracket": None, "bracket_by": None, "check": "", "confirm": "", "restore": None,
    }  # fmt: skip
    return Suspect(**{"rank": rank, "facts": (fact,), "before": before, "after": after} | empty | more)


def one_sided(side: Any, rule: Any, about: str, suspect: int | None) -> OneSided:
    finding = Finding(
        rule=rule, about=about, facts=(f"mapped/main/libraries/{about}/copies",), values={"main": ["/a", "/b"]},
        says=f"{about} is mapped from 2 places in main: /a, /b.", do="Leave one of them.",
    )  # fmt: skip
    return OneSided(side=side, finding=finding, suspect=suspect)


def said(message: str, suspect: int | None = None, **more: Any) -> Said:
    empty: dict[str, Any] = {
        "side": "b", "names": "resource", "lines": 8, "starts": (2, 2), "heard": True,
        "facts": ("container/*/shm_size",),
        "says": f"run-B alone said {message} (8 lines in 2 of 2 starts): NCCL could not make a segment in /dev/shm",
        "source": "https://example.org/issues/1",
    }  # fmt: skip
    return Said(**{"message": message, "suspect": suspect} | empty | more)


def changed(fact: str, before: Any, after: Any, **more: Any) -> ChangedFact:
    empty: dict[str, Any] = {
        "kind": "config", "verdict": "changed", "unit": "", "on": "", "which": (), "values": {}, "follows": None,
        "suspect": None, "context": False, "says": "",
    }  # fmt: skip
    return ChangedFact(**{"fact": fact, "before": before, "after": after} | empty | more)


def diff(headline: str, **more: Any) -> Diff:
    empty: dict[str, Any] = {
        "a": side("run-A"), "b": side("run-B"), "comparable": comparable(), "pairing": (), "metrics": (), "canary": (),
        "arithmetic": None, "suspects": (), "findings": (), "said": (), "held_up": (), "unexplained": None,
        "changes": (), "during": (), "own_noise": None, "intended": (),
        "ruled_out": RuledOut(count=1912, groups=(
            Group(title="kernel", facts=1290, devices=0, themes=("release", "scheduler"),
                  says="1290 equal, release and scheduler included"),
            Group(title="cpu", facts=622, devices=0, themes=(), says="622 equal"),
        ), absent=("cpu/frequency/bios_limit", "kernel/livepatches")),
        "not_known": (), "blind": (), "next": (),
    }  # fmt: skip
    return Diff(**{"schema": SCHEMA, "headline": headline} | empty | more)


ONE_ON_EACH_SIDE = "One run on each side and no known spread: a difference of 10 % or more may be noise."

NOTHING_CHANGED = diff(
    "Nothing that lasts changed, and no metric moved.",
    metrics=(metric("wall_time", "same", 4.012, 4.007), metric("peak_memory", "same", 3.1e8, 3.1e8, unit="B")),
)

ONE_SUSPECT = diff(
    "OMP_NUM_THREADS of the command went from 8 to 1, if the change is real.",
    metrics=(
        metric("wall_time", "unassessed", 4.012, 7.934, says=ONE_ON_EACH_SIDE),
        metric("cpu_time", "unassessed", 31.2, 7.91, says=ONE_ON_EACH_SIDE),
        metric("peak_memory", "same", 3.1e8, 3.1e8, unit="B"),
    ),
    suspects=(
        suspect(
            1, "process/main/env/OMP_NUM_THREADS", "8", "1", likelihood="likely",
            mechanism=("threads of OpenMP", "CPU time at once", "wall time"),
            evidence=(Evidence(fact="usage/main/threads", a=8, b=1, says="The process tree had 8 threads, then 1."),),
            consequences=("usage/main/threads",),
            check="tr '\\0' '\\n' < /proc/PID/environ | grep '^OMP_NUM_THREADS='",
            restore="export OMP_NUM_THREADS=8",
        ),
    ),
    changes=(
        changed("process/main/env/OMP_NUM_THREADS", "8", "1", suspect=1),
        changed("usage/main/threads", 8, 1, follows="process/main/env/OMP_NUM_THREADS", suspect=1),
    ),
    not_known=(
        Unknown(fact="memory/slab_merge", a="denied", b="denied", facts=1, rules=(), says=""),
        Unknown(fact="kernel/modules", a="absent", b="absent", facts=1, rules=(), says=""),
        Unknown(fact="kernel/debug", a="denied", b="denied", facts=1, rules=(), says=""),
    ),
    next=("Run it again with OMP_NUM_THREADS=8: fingerprint run --name run-C -- python serve.py --tp 8",),
)  # fmt: skip

EVERYTHING = diff(
    "verify_ms is worse by 54 %: the power limit of all 8 GPUs fell from 600 to 450 W.",
    a=side("run-A", attempts=3),
    b=side("run-B", attempts=2, host="h200-05", command="python serve.py --tp 8 --eager"),
    comparable=comparable(
        same_host=False, same_command=False, epochs_crossed=("boot", "container start"),
        says="Another host and another command: it was not the same experiment.",
    ),
    pairing=(
        Pair(a="0000:17:00.0", b="0000:17:00.0", how="same slot and unit"),
        Pair(a="0000:65:00.0", b="0000:65:00.0", how="slot has another unit"),
        Pair(a="0000:ca:00.0", b="", how="only in a"),
    ),
    metrics=(
        metric(
            "verify_ms", "worse", 19.2, 29.6, unit="ms", a=Spread(median=19.2, n=412, each=(18.8, 19.2, 19.3)),
            b=Spread(median=29.6, n=398, each=(29.1, 29.6, 29.9)), ci=(1.52, 1.56),
            says="The intervals of the two medians do not touch.",
        ),
        metric("tokens_per_second", "better", 60, 94, unit="tok/s", better="higher"),
        metric("accept_length", "changed", 2.0, 2.2, unit="", better="unknown"),
        metric("ttft", "unassessed", 0.21, 0.0, b=None, ratio=None, says="Not measured in run-B."),
    ),
    findings=(
        one_sided("a", "library-mapped-twice", "libnccl", suspect=None),
        one_sided("b", "package-deprecated", "pynvml", suspect=1),
    ),
    said=(said("cuda-ecc-error", suspect=1), said("nccl-shm-segment")),
    suspects=(
        suspect(
            1, "gpu/*/power_limit", 600, 450, unit="W", on="8/8", likelihood="likely", score=0.83,
            facts=("gpu/*/power_limit", "gpu/*/power_limit_default"), explains=Range(low=5.8, high=7.8, unit="ms"),
            explains_why_not=None, mechanism=("power limit", "SM clock", "verify step"),
            evidence=(
                Evidence(fact="gpu/*/throttled/power", a=0, b=0.87, says=""),
                Evidence(fact="gpu/*/sm_clock", a=1980, b=1335, says="SM clocks ran at 1335 MHz instead of 1980."),
            ),
            against=(Evidence(fact="plain_decode_ms", a=11.2, b=12.1, says="Plain decode moved by only 8 %."),),
            beside=(
                Beside(fact="gpu/*/power_default_limit", value=600000, unit="mW", says="What it falls back to."),
                Beside(fact="gpu/*/persistence_mode", value="disabled", unit="", says="Limits are lost without it."),
            ),
            consequences=("gpu/*/sm_clock", "gpu/*/power", "gpu/*/temperature"),
            bracket=("2026-03-02 09:00", "2026-03-02 09:40"), bracket_by="service", check="nvidia-smi -q -d POWER",
            restore="nvidia-smi -pl 600",
        ),
        suspect(2, "cpu/policy/policy0/governor", "performance", "powersave"),
        suspect(
            3, "process/main/sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
        ),
        suspect(4, "process/main/flags/--enforce-eager", {"gap": "absent"}, [], likelihood="unlikely"),
        *(suspect(n, f"kernel/sysctl/vm.knob{n}", n, n + 1, likelihood="unlikely") for n in range(5, 15)),
    ),
    unexplained=Unexplained(low=2.6, high=4.6, unit="ms", says="of verify_ms, after the suspects with a bound"),
    changes=(
        changed("gpu/*/power_limit", 600, 450, unit="W", on="8/8", suspect=1),
        changed("memory/hugepages/2048kB/nr", 0, 512, verdict="changed during the run", says="in run-B"),
        changed("kernel/lockdown", "none", {"gap": "denied"}, verdict="went dark"),
        changed("gpu/*/uuid", "GPU-1", "GPU-2", kind="identity", verdict="another part", on="1/8",
                values={"gpu/0000:65:00.0/uuid": ("GPU-1", "GPU-2")}),
        changed("process/main/env/SECRET", {"redacted": True}, {"redacted": True}),
        changed("process/main/env/LD_PRELOAD", None, "", verdict="appeared"),
        changed("kernel/build", "#1 SMP one", "#1 SMP two", context=True, says="context of kernel/release"),
        changed("kernel/version", "6.1", "6.2", follows="kernel/build"),
        changed("memory/limit", "max", 68719476736, unit="B"),
    ),
    during=(
        During(fact="pressure/cpu/some/avg10", unit="%", a=0.1, b=37.5, on="", values={}, says=""),
        During(fact="usage/main/rss", unit="B", a=1, b=2, on="", values={}, says="grew by 12 MB/s in run-B only"),
    ),
    own_noise=OwnNoise(
        learned="2026-03-01T20:00:00Z", snapshots=10, left_out=("pressure/activity/ctxt", "pressure/load/load1"),
        says="learned 2026-03-01T20:00:00Z from 10 snapshots",
    ),
    intended=(changed("process/main/env/BATCH", "8", "16"),),
    not_known=(
        *(Unknown(fact=f"kernel/part{n}", a="seen", b="timed_out", facts=1, rules=(), says=HUNG) for n in range(5)),
        Unknown(fact="gpu/*/**", a="asleep", b="asleep", facts=286, rules=(), says="reading would have woken it"),
        Unknown(fact="gpu/0000:65:00.0/clocks/sm", a="seen", b="too few samples", facts=1, rules=(), says=FEW),
        Unknown(fact="driver", a="not_read", b="seen", facts=1, rules=(), says="run-A is older than this area"),
    ),
    next=("Set the power limit back: nvidia-smi -pl 600", "Run run-B's command again and compare."),
)  # fmt: skip

NO_SUSPECT = diff(
    "wall_time is worse by 54 %, and nothing that changed can explain it.",
    metrics=(metric("wall_time", "worse", 4.0, 6.2, ci=(1.4, 1.7)),),
    changes=(changed("storage/mount/%2Fdata/options", "rw,noatime", "rw,relatime"),),
    not_known=(
        Unknown(
            fact="gpu/*/power_limit", a="denied", b="denied", facts=8, rules=("power-limit",), says="read it as root"
        ),
        Unknown(
            fact="process/main",
            a="seen",
            b="not_read",
            facts=1,
            rules=("affinity", "nice", "cpu-quota", "omp-threads"),
            says="the command ended before it was read: what it was given is compared",
        ),
        Unknown(fact="kernel/tracing/set_event", a="denied", b="denied", facts=1, rules=(), says="read it as root"),
    ),
    blind=(
        Blind(
            what="the input: what was worked on", look="compare the data and the parameters that are read at run time"
        ),
        Blind(what="what the program waited for inside and elsewhere", look="profile one run of each and compare"),
    ),
)

HELD_UP = diff(
    "Nothing changed: 1912 facts were seen equal in both; run-B waited 41 % of its time for a CPU while stress-ng took "
    "1.9 CPUs; run-A: 2 %; wall_time +70 %, unassessed.",
    metrics=(metric("wall_time", "unassessed", 4.012, 6.82, says=ONE_ON_EACH_SIDE),),
    held_up=(
        HeldUp(
            fact="usage/main/run_delay", a=0.0212, b=0.4108,
            by=(Neighbour(program="stress-ng", a=None, b=1.9), Neighbour(program="[kworker]", a=0.021, b=0.6)),
            says="run-B waited 41 % of its time for a CPU while stress-ng took 1.9 CPUs, [kworker] took 60 % of a CPU; "
            "run-A: 2 %",
        ),
        HeldUp(
            fact="pressure/io/some/total", a=None, b=0.12, by=(),
            says="tasks of the host waited 12 % of the time for a disk while run-B ran; run-A: not known",
        ),
    ),
    next=("Run run-B again without stress-ng, [kworker] beside it, or pin each to CPUs of its own (taskset -c).",),
)  # fmt: skip

CANNOT_BE = (
    "run-A: decode_ms (11.2 ms) is 12 % more than 1 / plain_throughput (10 ms): not all of them are true, unless more "
    "than one stream was served."
)

SPECULATION = diff(
    "verify_ms is worse (+58 %), and nothing that was seen in both runs changed that could explain it.",
    metrics=(
        metric("throughput", "worse", 94, 60, unit="tok/s", better="higher"),
        metric("accept_length", "same", 2.0, 2.0, unit="", better="unknown"),
        metric("verify_ms", "worse", 19, 30, unit="ms"),
        metric("decode_ms", "same", 11.2, 12.2, unit="ms"),
    ),
    arithmetic=Arithmetic(
        identities=(
            "throughput = accept_length / cycle", "cycle = verify_ms + rest",
            "break-even accept length = (1 / decode_ms) x (accept_length / throughput)",
        ),
        factors=(
            Factor(name="accept_length", part_of="", a=2.0, b=2.0, unit="", times=1.0, share=0.0),
            Factor(name="cycle", part_of="", a=21.28, b=33.33, unit="ms", times=0.6383, share=1.0),
            Factor(name="verify_ms", part_of="cycle", a=19, b=30, unit="ms", times=0.6637, share=0.913),
            Factor(name="rest of the cycle", part_of="cycle", a=2.28, b=3.33, unit="ms", times=0.9617, share=0.087),
        ),
        residuals=(
            Residual(whole="accept_length / throughput", parts="verify_ms", a=2.28, b=3.33, unit="ms",
                     says="verify_ms leaves 2.28 -> 3.33 ms of accept_length / throughput"),
        ),
        break_even=(
            BreakEven(side="b", baseline=81.97, baseline_is="1 / decode_ms", cycle=33.33,
                      cycle_is="accept_length / throughput", accept_length=2.73, measured=2.0, throughput=60.0,
                      formula="break-even accept length = (1 / decode_ms) x (accept_length / throughput)",
                      margin=-0.268, says="run-B 2.73 (has 2, -27 %)"),
        ),
        contradictions=(
            Contradiction(side="a", metrics=("decode_ms", "plain_throughput"), part=11.2, whole=10.0, unit="ms",
                          beyond=0.12, says=CANNOT_BE),
        ),
        says=(
            CANNOT_BE,
            "Of throughput x 0.64: verify_ms 91 %, rest of the cycle 9 %.",
            "Break-even accept length: run-B 2.73 (has 2, -27 %).",
            "verify_ms leaves 2.28 -> 3.33 ms of accept_length / throughput.",
        ),
    ),
)  # fmt: skip

CASES: Mapping[str, Diff] = {
    "nothing-changed": NOTHING_CHANGED,
    "one-suspect": ONE_SUSPECT,
    "everything": EVERYTHING,
    "no-suspect": NO_SUSPECT,
    "held-up": HELD_UP,
    "speculation": SPECULATION,
}
