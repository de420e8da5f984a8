"""One examination by `rocketns doctor`, as JSON and as text, and what is expected of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from interop.doctor.network import Machine
from interop.doctor.site import address_of
from interop.harness.servers import NameServer

WELL, ILL = 0, 1
TIMEOUT_S = 120


@dataclass(frozen=True)
class Cause:
    """The fault of a fleet: the checks that may name it, and words that the first finding must have, in any case."""

    checks: tuple[str, ...]
    sentence: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """``text`` is what people see, ``report`` the same as JSON. Both had the same exit status."""

    status: int | None
    report: dict[str, Any]
    text: str

    @property
    def first(self) -> dict[str, Any]:
        return dict(self.report["findings"][0])

    def of(self, state: str) -> list[dict[str, Any]]:
        return [one for one in self.report["findings"] if one["state"] == state]

    def says(self, *finding_words: str) -> bool:
        """Whether the findings have these words."""
        findings = [[one["sentence"], *one["evidence"], *one["commands"]] for one in self.report["findings"]]
        lines = " ".join(chain.from_iterable(findings)).lower()
        return all(word.lower() in lines for word in finding_words)

    def commands(self, beginning: str = "mqadmin ") -> list[str]:
        """The commands of the first finding that begin so."""
        return [line for line in self.first["commands"] if line.startswith(beginning)]

    def names_first(self, cause: Cause) -> None:
        """Check that the fault is the first finding, in both forms."""
        self.is_in_order()
        first = self.first
        assert (self.status, first["state"]) == (ILL, "ill"), self.text
        assert first["check"] in cause.checks, f"{first['check']} is first, not {cause.checks}\n{self.text}"
        _has(first["sentence"], cause.sentence, self.text)
        _has(" ".join(first["evidence"]), cause.evidence, self.text)
        _has(" ".join(first["commands"]), cause.commands, self.text)

    def is_well(self) -> None:
        """Check that nothing is wrong, in both forms."""
        self.is_in_order()
        assert not self.of("ill"), self.text
        assert self.status == WELL, self.text

    def is_in_order(self) -> None:
        """Check that the text begins with the same cause."""
        if self.report["findings"]:
            assert self.first["sentence"] in self.text.splitlines()[0], f"{self.first}\n{self.text}"
            assert all(command in self.text for command in self.first["commands"]), f"{self.first}\n{self.text}"


def doctor(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it on a machine."""
    command = [sys.executable, "-m", "rocketns", "doctor", *words]
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    with machine.inside():
        return subprocess.run(command, env=environment, text=True, capture_output=True, timeout=TIMEOUT_S, check=False)


def examine(machine: Machine, servers: Iterable[NameServer] | str, *words: str) -> Diagnosis:
    """Run the doctor on a machine, once for each form. What it looks at must not change meanwhile."""
    addresses = servers.split() if isinstance(servers, str) else [address_of(one) for one in servers]
    command = (*addresses, *words)
    in_json, as_text = doctor(machine, *command, "--json"), doctor(machine, *command)
    assert in_json.stdout, in_json.stderr
    assert in_json.returncode == as_text.returncode, f"{in_json.stdout}\n{as_text.stdout}{as_text.stderr}"
    assert not in_json.stderr + as_text.stderr, in_json.stderr + as_text.stderr
    return Diagnosis(in_json.returncode, json.loads(in_json.stdout), as_text.stdout)


def _has(text: str, words: Iterable[str], whole: str) -> None:
    missing = [word for word in words if word.lower() not in text.lower()]
    assert not missing, f"{missing} not in {text!r}\n{whole}"
