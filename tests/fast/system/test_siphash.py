"""The hash of topics is SipHash-1-3: CPython's own hash of bytes, which has the key 0 where PYTHONHASHSEED is 0."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.compiled.parts import siphash

SAMPLES = [bytes(range(length)) for length in range(1, 80)] + [b"\xff" * length for length in range(1, 300, 7)]
HASHES = "import sys; print(*[hash(bytes.fromhex(line)) for line in sys.stdin.read().split()])"


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason=f"CPython has {sys.hash_info.algorithm} here")
def test_a_hash_equals_that_of_cpython() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    text = "\n".join(sample.hex() for sample in SAMPLES)
    done = subprocess.run([sys.executable, "-c", HASHES], input=text, env=environment, capture_output=True, text=True,
                          check=True)  # fmt: skip
    expected = [int(word) % 2**64 for word in done.stdout.split()]
    assert [siphash(sample, 0, 0) for sample in SAMPLES] == expected


def test_each_half_of_the_key_counts() -> None:
    assert len({siphash(b"TopicTest", first, second) for first in range(8) for second in range(8)}) == 64


def test_the_length_counts() -> None:
    assert len({siphash(bytes(length), 1, 2) for length in range(64)}) == 64
