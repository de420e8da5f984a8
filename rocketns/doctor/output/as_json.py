"""The report as a value for JSON. Its keys and the names of checks are the same in every language."""

from __future__ import annotations

from typing import Any

from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.reach import AddressFacts
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.output.verdict import verdict
from rocketns.doctor.running import Report
from rocketns.protocol.codes import version_name


def report_json(report: Report) -> dict[str, Any]:
    """The whole report. ``checks`` has the exit status of each check that ran."""
    statuses: dict[str, State] = {}
    for one in report.findings:
        statuses[one.check] = max(statuses.get(one.check, State.WELL), one.state, key=_severity)
    return {
        "exitStatus": report.exit_status,
        "verdict": verdict(report),
        "checks": {name: {"exitStatus": int(state), "state": state.name.lower()} for name, state in statuses.items()},
        "skipped": list(report.skipped),
        "findings": [_finding(one) for one in report.findings],
        "findingsLeftOut": dict(report.more),
        "nameServers": [_name_server(one) for one in report.facts.name_servers],
        "addresses": [_address(one) for one in report.facts.addresses.values()],
        "brokers": [_broker(one) for one in report.facts.brokers],
        "requests": [
            {"to": one.to, "mostToEach": dict(one.most), "sent": {addr: dict(sent) for addr, sent in one.sent.items()}}
            for one in report.facts.requests
        ],
        "brokersLeftOut": report.facts.left_out,
    }


def _severity(state: State) -> int:
    return (State.WELL, State.UNKNOWN, State.ILL).index(state)


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "check": one.check, "state": one.state.name.lower(), "weight": one.weight.name.lower(),
        "sentence": one.sentence, "evidence": list(one.evidence), "commands": list(one.commands),
    }  # fmt: skip


def _name_server(one: NameServerFacts) -> dict[str, Any]:
    return {
        "addr": one.addr, "outcome": str(one.outcome), "error": one.error, "kind": str(one.kind),
        "version": None if one.version is None else version_name(one.version),
        "brokers": None if one.groups is None else len(one.groups),
        "topics": None if one.topics is None else len(one.topics),
    }  # fmt: skip


def _address(one: AddressFacts) -> dict[str, Any]:
    return {
        "addr": one.addr, "ips": list(one.ips), "place": str(one.place), "outcome": str(one.outcome),
        "connectMs": None if one.ms is None else round(one.ms, 1), "error": one.error,
    }  # fmt: skip


def _broker(one: BrokerFacts) -> dict[str, Any]:
    return {
        "name": one.name, "id": one.broker_id, "cluster": one.cluster, "addr": one.addr,
        "version": None if one.version is None else version_name(one.version),
    }  # fmt: skip
