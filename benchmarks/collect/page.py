"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.report.figures import figure, table

TITLES = ["What happened", "s", "Lookups/s", "Other requests/s", "Answers, MB/s", "CPU of the name server, s/s",
          "CPU of collect, s/s", "CPU ms a lookup: server", "collect", "Memory of collect, MB", "highest",
          "Journal, kB"]  # fmt: skip


def page(result: Mapping[str, Any]) -> str:
    """The whole page."""
    about = result["machine"]
    lines = [
        "# Collecting from outside", "",
        f"`{about['command']}`, {result['when']}, rocketns {about['commit']}; {about['cores']} cores, "
        f"{about['processor']}, Python {about['Python']}; load average before: {about['load average before']}",
        "",
        *([f"**The machine was busy:** {result['busy']}. CPU seconds and bytes hold; seconds of the clock are more "
           "than they would be.", ""] if result["busy"] else []),
        f"{result['brokers']} simulated brokers, each topic of {result['topics']:,} on {result['width']} of them. The "
        "first name server is Java 5.5.0, others are rocketns. Rates are of one name server; the figures of the name "
        "server are of the first one, those of collect are of all. Bytes and requests are counted by a relay between "
        f"the two. While nobody asked it, the name server used "
        f"{_a_second(result['alone'], 'server_cpu_s')} s of CPU a second.",
    ]  # fmt: skip
    lines += [f"\n**Failed:** {why}." for why in result["failed"]]
    for one in result["measured"]:
        lines += ["", f"## {_count(one['name_servers'])}, {one['per_second']:g} requests a second each", "",
                  *table(TITLES, 1, [_row(span, one["name_servers"]) for span in one["spans"]])]  # fmt: skip
        asked = ", ".join(f"{code}: {count:,}" for code, count in one["asked"].items())
        connections = ", ".join(map(str, one["connections"]))
        lines += ["", f"Requests by code: {asked}. Connections to each: {connections}."]
    return "\n".join([*lines, ""])


def _count(name_servers: int) -> str:
    return "One name server" if name_servers == 1 else f"{name_servers} name servers"


def _a_second(span: Mapping[str, float], name: str) -> str:
    return f"{span[name] / span['seconds']:.3f}"


def _row(span: Mapping[str, Any], name_servers: int) -> list[str]:
    took_s, lookups = span["took_s"], span["lookups"]
    each = [span["server_cpu_s"] / lookups, span["collect_cpu_s"] / lookups / name_servers] if lookups else [None, None]
    return [
        span["what"], figure(took_s), figure(lookups / took_s), figure(span["other_requests"] / took_s),
        figure(span["answered_bytes"] / took_s / 1e6), f"{span['server_cpu_s'] / took_s:.3f}",
        f"{span['collect_cpu_s'] / took_s:.3f}", *(figure(one and one * 1e3) for one in each),
        figure(span["collect_mb"]), figure(span["highest_mb"]), f"{span['journal_bytes'] / 1e3:,.1f}",
    ]  # fmt: skip
