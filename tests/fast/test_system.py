"""keep_secrets_out_of_core_dumps: what the kernel then refuses."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.system.proxy_extensions import fault_of
from tests.compiled.parts import siphash
from tests.support.proxyheaders import tlv

CALL = "keep_secrets_out_of_core_dumps()"
BEFORE = """
import ctypes, os, resource
from rocketns._fast.system.hardening.core_dumps import keep_secrets_out_of_core_dumps
"""
# Without rights over other users' processes; a changed user alone makes a process not dumpable, so it is made so again.
AS_NOBODY = """
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
"""
# A second process of the same user, which is dumpable itself, asks for what only the first may see.
SPIES = """
if os.fork() == 0:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    try:
        open(f"/proc/{os.getppid()}/environ", "rb").read()
        print("read")
    except PermissionError:
        print("refused")
else:
    os.wait()
"""


def printed(*script: str) -> str:
    command = [sys.executable, "-c", BEFORE + "\n".join(script)]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, timeout=60).stdout.strip()


def test_the_limit_of_cores_is_zero() -> None:
    assert printed(CALL, "print(resource.getrlimit(resource.RLIMIT_CORE))") == "(0, 0)"


def test_the_process_is_not_dumpable() -> None:
    asked = "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    assert (printed(asked), printed(CALL, asked)) == ("1", "0")


# The compiled check of a PROXY header's extensions against its definition.

SSL = 0x20
NESTING_MAX = 128
CUT = "a PROXY header with a cut extension"
SSL_CUT = "a PROXY header with a cut SSL extension"
TOO_DEEP = "a PROXY header with extensions within extensions"

extensions = st.recursive(
    st.builds(tlv, st.sampled_from([0, 4, SSL, 0xEE]), st.binary(max_size=9)),
    lambda inner: st.lists(inner, max_size=4).map(lambda some: tlv(SSL, bytes(5) + b"".join(some))),
)
blocks = st.lists(extensions, max_size=5).map(b"".join)


def defined(rest: bytes, nesting: int = 0) -> str | None:
    """HAProxyMessage.readTlvs."""
    if nesting > NESTING_MAX:
        return TOO_DEEP
    at = 0
    while len(rest) - at >= 4:
        value = at + 3
        end = value + int.from_bytes(rest[at + 1 : value], "big")
        if end > len(rest):
            return CUT
        if rest[at] == SSL:
            if end - value < 5:
                return SSL_CUT
            found = defined(rest[value + 5 : end], nesting + 1)
            if found is not None:
                return found
        at = end
    return None


def nested(levels: int, value: bytes = b"") -> bytes:
    for _ in range(levels):
        value = tlv(SSL, bytes(5) + value)
    return value


@given(st.one_of(blocks, st.binary(max_size=60)), st.integers(0, 12), st.binary(max_size=3))
@example(nested(128), 0, b"")
@example(nested(129), 0, b"")
@example(nested(3, b"\x04\0\x02a"), 0, b"")
def test_it_finds_what_the_definition_finds(block: bytes, cut: int, rest: bytes) -> None:
    """B057: whole ones, cut ones, ones within others."""
    data = block[: len(block) - cut] + rest
    assert fault_of(data) == defined(data)


# The hash of topics is SipHash-1-3: CPython's own hash of bytes, which has the key 0 where PYTHONHASHSEED is 0.

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


# Constants in compiled code are equal to those of the same name in Python.

ROOT = Path(__file__).parents[2] / "rocketns"
PYTHON = ("protocol", "config", "routeinfo")
COMPILED = re.compile(r"^    ([A-Z][A-Z0-9_]*) = ([0-9][0-9_]*|0x[0-9A-Fa-f_]+)\s*(?:#.*)?$", re.MULTILINE)
# Names that mean different things in the two.
UNRELATED = {"OTHER"}


def compiled() -> Iterator[tuple[str, str, int]]:
    """File, name and value of every number in an enum of the compiled code."""
    for path in sorted((ROOT / "_fast").rglob("*.p[yx][xd]")):
        for name, text in COMPILED.findall(path.read_text("utf-8")):
            yield path.name, name, int(text, 0)


def python() -> dict[str, set[int]]:
    """The values of every named number at the top of a Python module or in a class."""
    found: dict[str, set[int]] = {}
    for path in (path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = _number(node.value)
                if value is not None:
                    found.setdefault(node.targets[0].id, set()).add(value)
    return found


def _number(node: ast.expr) -> int | None:
    """A number, or a product or shift of numbers."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.LShift):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    return left * right if isinstance(node.op, ast.Mult) else left << right


def test_equal_names_have_equal_values() -> None:
    names = python()
    wrong = [
        f"{file}: {name} = {value}, in Python {sorted(names[name])}"
        for file, name, value in compiled()
        if name in names and name not in UNRELATED and names[name] != {value}
    ]
    assert wrong == []


def test_the_twins_limits_are_compared() -> None:
    """These constants are in both, so the test notices if only one of them changes."""
    shared = {name for _, name, _ in compiled()} & set(python())
    assert {
        "BLOCKS_MAX",
        "ODD_VALUES_MAX",
        "HEADER_VALUES_MAX",
        "FILTER_SERVERS_MAX",
        "DEFAULT_QUEUE_NUMS",
        "NESTING_MAX",
        "V4_9_4",
    } <= shared
