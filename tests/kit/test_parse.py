import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kit.parse import as_cpu_list, cpu_list, cpu_mask, fields, kib, selected


@given(st.frozensets(st.integers(0, 4096), max_size=80))
def test_a_set_of_cpus_written_as_a_list_reads_back(cpus: frozenset[int]) -> None:
    assert cpu_list(as_cpu_list(cpus)) == cpus


@given(st.frozensets(st.integers(0, 300), max_size=80))
def test_a_set_of_cpus_written_as_the_kernels_mask_reads_back(cpus: frozenset[int]) -> None:
    bits = sum(1 << cpu for cpu in cpus)
    words = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(288, -1, -32)]
    assert cpu_mask(",".join(words) + "\n") == cpus


@given(st.frozensets(st.integers(0, 300), min_size=1, max_size=80))
def test_the_written_list_is_the_shortest(cpus: frozenset[int]) -> None:
    borders = sum(1 for cpu in cpus if cpu - 1 not in cpus)
    assert len(as_cpu_list(cpus).split(",")) == borders


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("\n", set()),
        ("0\n", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("10-14:2/4", {10, 11, 14}),
        ("0-7:1/2,9", {0, 2, 4, 6, 9}),
        ("3,1-2,2", {1, 2, 3}),
    ],
)
def test_the_kernels_list_format_is_read(text: str, cpus: set[int]) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["x", "1-", "-1-2", "3-1", "0-3:2", "0-3:2/0", "0-3:5/4", "1,two", "0x3"])
def test_what_the_kernel_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        cpu_list(text)


def test_fields_keep_values_that_hold_the_separator() -> None:
    text = "Name:\tpython\nno separator here\nGroups: \nPath: a:b\n"
    assert fields(text) == {"Name": "python", "Groups": "", "Path": "a:b"}
    assert fields("processor = 0", "=") == {"processor": "0"}


def test_the_bracketed_choice_is_the_selected_one() -> None:
    assert selected("always [madvise] never\n") == "madvise"


@pytest.mark.parametrize("text", ["always madvise", "[open", "close]", ""])
def test_a_choice_without_brackets_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no \\[choice\\]"):
        selected(text)


def test_kib_takes_kilobytes_only() -> None:
    assert kib("  16384 kB\n") == 16384
    for text in ("16384", "16 MB", "x kB"):
        with pytest.raises(ValueError, match=r".+"):
            kib(text)
