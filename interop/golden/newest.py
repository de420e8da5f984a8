"""The differences between 5.5.1's answers and 5.5.0's: the version number of every answer, an address in remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interop.golden.compare import comparable
from interop.golden.steps import Step
from interop.harness.wire import ROCKETMQ, decode_binary_header
from rocketns.shadow.comparing.frames import split

Parts = tuple[int, dict[str, Any] | str, str]
VERSIONS = (513, 515)
ADDRESSES = ("https://rocketmq.apache.org/docs/bestPractice/06FAQ", "https://rocketmq.apache.org/docs/faq/")


def differences(steps: Sequence[Step], new: Sequence[bytes]) -> list[str]:
    """The steps whose answers differ in anything else, each with both answers. The steps have 5.5.0's."""
    rows = zip(steps, new, strict=True)
    return [f"{step.name}\n    5.5.0 {step.answer!r}\n    5.5.1 {a!r}" for step, a in rows if not _alike(step, a)]


def _alike(step: Step, new: bytes) -> bool:
    if not step.answer or not new:
        return step.answer == new
    return _parts(step, step.answer) == _put_back(_parts(step, new))


def _parts(step: Step, answer: bytes) -> Parts:
    """Serialize type, header and body. Lengths are left out, because the addresses have different ones."""
    header, _, kind = split(answer)
    shown = comparable(step, answer)
    return kind, decode_binary_header(header) if kind == ROCKETMQ else shown["header"], shown["body"]


def _put_back(parts: Parts) -> Parts:
    """An answer of 5.5.1 with the version number and the address of 5.5.0."""
    kind, header, body = parts
    (old, new), (old_address, new_address) = VERSIONS, ADDRESSES
    if isinstance(header, str):
        text = header.replace(f'"version":{new}}}', f'"version":{old}}}')
        return kind, text.replace(new_address, old_address), body
    known = {"version": {new: old}.get(header["version"], header["version"])}
    if "remark" in header:
        known["remark"] = header["remark"].replace(new_address, old_address)
    return kind, header | known, body
