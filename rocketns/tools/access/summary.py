"""A policy in a few tables: the modes, the principals, and what to notice. No secret is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.access.classes import RIGHTS
from rocketns.access.policy import Policy
from rocketns.access.principal import Globs, Principal
from rocketns.tools.access.networks import plain
from rocketns.tools.access.notices import RESTRICTIONS, notices
from rocketns.tools.output import Report, TextTable

SHOWN_IN_A_CELL_MAX = 4
EVIDENCE = ("networks", "keys", "certificates")
BOUNDS = ("brokers_max", "topics_max", "bytes_max")


@dataclass(frozen=True, slots=True)
class Summary:
    """The same for programs and for people."""

    value: dict[str, Any]

    def report(self) -> Report:
        modes = [(name, mode) for name, mode in self.value["modes"].items()]
        rows = [_row(one) for one in self.value["principals"]]
        table = TextTable(("PRINCIPAL", "KNOWN BY", "MAY", "ONLY"), rows)
        return [TextTable(("CLASS", "MODE"), modes), *([table] if rows else []),
                *(f"notice: {one}" for one in self.value["notices"])]  # fmt: skip


def summary(policy: Policy) -> Summary:
    """Of a policy that can be used."""
    return Summary({
        "modes": {access.value: policy.mode_of(access).word for access in RIGHTS} | {"takeover": policy.takeover.word},
        "principals": [_principal(one) for one in policy.principals],
        "keys": sorted(policy.secrets),
        "notices": notices(policy),
    })  # fmt: skip


def _principal(one: Principal) -> dict[str, Any]:
    named = {name: _listed(getattr(one, name)) for name in (*EVIDENCE, *RESTRICTIONS, "owns")}
    bounds = {name: getattr(one.bounds, name) for name in BOUNDS}
    return {"name": one.name, "may": [access.value for access in RIGHTS if access in one.may]} | named | bounds


def _listed(value: Any) -> Any:
    """A list of texts; None stays None, true or false too."""
    if isinstance(value, Globs):
        return list(value.globs)
    if isinstance(value, frozenset):
        return sorted(value)
    return value if value is None or isinstance(value, bool) else [plain(one) for one in value]


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    known = [f"{name} {_few(one[name])}" for name in EVIDENCE if one[name]]
    only = [f"{name} {_few(one[name])}" for name in RESTRICTIONS if one[name] is not None and one[name] is not False]
    bounds = [f"{name} {one[name]}" for name in BOUNDS if one[name] is not None]
    owns = [f"owns {_few(one['owns'])}"] if one["owns"] else []
    return one["name"], " and ".join(known), ", ".join(one["may"]) or "-", "; ".join((*only, *bounds, *owns)) or "-"


def _few(values: Sequence[str] | bool) -> str:
    if isinstance(values, bool):
        return "true"
    more = len(values) - SHOWN_IN_A_CELL_MAX
    return (", ".join(values[:SHOWN_IN_A_CELL_MAX]) or "none") + (f" and {more} more" if more > 0 else "")
