"""`rocketns diff`: what several name servers disagree about, and still do after a while."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass

from rocketns.client.name_server import NameServer
from rocketns.fleet.comparing import FactKind, Item, Reading, differences
from rocketns.tools.details import Difference, cells, detailed
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, TextTable, print_json, print_line, print_table
from rocketns.tools.reading import each, read_again, read_all

# While a difference may settle, it is looked at so often. Many topics are looked at once, at the end.
LOOK_EVERY_S = 1.0
TOPICS_LOOKED_AT_OFTEN = 500
ROWS_MAX = 500


@dataclass(frozen=True, slots=True)
class Comparison:
    """``first`` has all that was read. ``latest`` has what ``lasting`` differences are about; the others settled."""

    first: Sequence[Reading]
    latest: Sequence[Reading]
    lasting: Sequence[Item]
    settled: Sequence[Item]


async def diff(options: Namespace, servers: Sequence[NameServer]) -> int:
    """Print the differences. The exit status. An ExceptionGroup has an error for each unreadable name server."""
    outcome = await compared(servers, options.settle, options.lookups_per_second)
    details = await detailed(servers, outcome.latest, outcome.lasting)
    (_print_json if options.json else _print_tables)(outcome, details)
    return EXIT_DIFFERENT if outcome.lasting else EXIT_FOUND


async def compared(servers: Sequence[NameServer], settle_s: float, per_second: float = 0) -> Comparison:
    """All differences that last for ``settle_s``."""
    first = latest = await each(servers, lambda server: read_all(server, per_second))
    at_first = lasting = list(differences(first))
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + settle_s
    while lasting and (left_s := ends_s - loop.time()) > 0:
        topics = [item.name for item in lasting if item.kind is FactKind.TOPIC]
        await asyncio.sleep(min(left_s, LOOK_EVERY_S if len(topics) <= TOPICS_LOOKED_AT_OFTEN else left_s))
        latest = await _look_again(servers, lasting, topics, per_second)
        still = set(differences(latest))
        lasting = [item for item in lasting if item in still]
    gone = set(at_first) - set(lasting)
    return Comparison(first, latest, lasting, [item for item in at_first if item in gone])


async def _look_again(
    servers: Sequence[NameServer], items: Sequence[Item], topics: Sequence[str], per_second: float
) -> list[Reading]:
    kinds = {item.kind for item in items}
    return await each(servers, lambda server: read_again(server, kinds, topics, per_second))


def _print_json(outcome: Comparison, details: Sequence[Difference]) -> None:
    print_json({
        "servers": [{"addr": one.addr, "brokers": len(one.groups), "topics": len(one.digests)}
                    for one in outcome.first],
        "differences": [{"kind": one.item.kind, "name": one.item.name, "views": one.views} for one in details],
        "settled": [{"kind": item.kind, "name": item.name} for item in outcome.settled],
    })  # fmt: skip


def _print_tables(outcome: Comparison, details: Sequence[Difference]) -> None:
    rows = [(one.addr, str(len(one.groups)), str(len(one.digests))) for one in outcome.first]
    print_table(TextTable(("NAME SERVER", "BROKER GROUPS", "TOPICS"), rows))
    if details:
        addrs = [one.addr for one in outcome.latest]
        shown = [(one.item.kind.upper(), one.item.name, *cells(one, addrs)) for one in details[:ROWS_MAX]]
        print_table(TextTable(("KIND", "NAME", *addrs), shown))
    if len(details) > ROWS_MAX:
        print_line(f"{len(details) - ROWS_MAX} more differences; --json prints all")
    print_line(f"{len(details)} differences; {len(outcome.settled)} more settled meanwhile")
