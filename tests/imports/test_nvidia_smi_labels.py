"""The text of `nvidia-smi -q` tells what its XML tells, by labels."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from fingerprint.imports import nvidia_smi_table as xml
from fingerprint.imports.nvidia_smi_labels import DRIVER, GPU, INSTANCE, PROCESS
from fingerprint.imports.nvidia_smi_text import tree

CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
TEXTS = sorted(Path(CORPUS).glob("raw/nvidia-smi-q/*.txt")) if CORPUS else []
UNLABELLED = {"health/remapped_rows/correctable_inactive", "health/remapped_rows/uncorrectable_inactive"}
"""Facts of the XML that no text seen so far tells."""


def test_each_fact_of_the_xml_has_a_label() -> None:
    assert xml.GPU.keys() - GPU.keys() == UNLABELLED
    assert (xml.DRIVER.keys(), xml.INSTANCE.keys(), xml.PROCESS.keys()) == (
        DRIVER.keys(), INSTANCE.keys(), PROCESS.keys(),
    )  # fmt: skip


def printed() -> Iterator[str]:
    for text in TEXTS:
        for line in text.read_text(errors="replace").splitlines():
            yield re.sub(r"[^a-z0-9]+", "_", line.partition(" : ")[0].strip().lower()).strip("_")


@pytest.mark.skipif(not TEXTS, reason="FINGERPRINT_CORPUS holds no texts of nvidia-smi -q")
def test_each_label_was_printed_by_some_driver() -> None:
    last = {label.rpartition("/")[2] for row in GPU.values() for label in row.elements}
    assert last - set(printed()) == set()


def ends(element: Element, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for below in element:
        yield from ends(below, (*path, below.tag)) if len(below) else [(*path, below.tag)]


@pytest.mark.skipif(not TEXTS, reason="FINGERPRINT_CORPUS holds no texts of nvidia-smi -q")
def test_no_label_that_is_read_stands_unread_elsewhere_in_its_group() -> None:
    """As power limits did, once a driver had given them a group of their own."""
    read = {tuple(label.split("/")) for row in GPU.values() for label in row.elements}
    ends_read = {(path[0], path[-1]) for path in read}
    seen = {
        path for text in TEXTS for gpu in tree(text.read_text(errors="replace")).gpus.values() for path in ends(gpu)
    }
    assert {path for path in seen - read if (path[0], path[-1]) in ends_read} == set()
