"""The file of views: read at the start, followed, and put in force for control and the reactors together."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from rocketns.access.policy_values import ReadFile
from rocketns.addresses import read_server
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.following import FollowedFile, Parse, Run, at_once
from rocketns.server.listening import Listening, bind
from rocketns.views.views import View, Views
from rocketns.views.views_file import FILE_BYTES_MAX, read_views

log = logging.getLogger("rocketns.views")

BEHIND_NAMED_MAX = 16  # brokers in a log line


class ViewsFile(FollowedFile[tuple[View, ...]]):
    """``path`` is "" without views. ``use`` puts all views in force. Control only.

    ``listening`` are the sockets of the views that the start found; later ones need a restart.
    """

    def __init__(
        self, path: str, use: Callable[[Views], None], tables: RouteTables, run: Run = at_once, *,
        trusts_announced: bool = False,
    ) -> None:  # fmt: skip
        super().__init__("the list of views", "viewsFile", path, Parse(_read, FILE_BYTES_MAX), self._follow_views, run)
        self._use = use
        self._tables = tables
        self._trusts_announced = trusts_announced
        self.views = Views()
        self.listening: list[Listening] = []
        self._listens: tuple[str, ...] = ()
        self._is_first = True

    def start(self, *, ipv4_only: bool) -> None:
        """Read the file, and bind the addresses of its views. StartupError if one of them cannot be used."""
        if not self._path:
            return
        self.read_first()
        for listen in self._listens:
            host, port = read_server(listen) or ("", 0)
            self.listening.append(bind(host, port, ipv4_only=ipv4_only))

    def _follow_views(self, views: tuple[View, ...]) -> None:
        wanted = tuple(view.listen for view in views if view.listen is not None)
        if self._is_first:
            self._listens, self._is_first = wanted, False
        for listen in wanted:
            if listen not in self._listens:
                log.warning("views: nobody listens at %s yet: that needs a restart", listen)
        for listen in self._listens:
            if listen not in wanted:
                log.warning("views: who connects to %s is in no view any more; to close it needs a restart", listen)
        made = Views(views, self._listens, trusts_announced=self._trusts_announced)
        self._use(made)
        self.views = made
        log.info("views: %s", ", ".join(f"{view.name} with {len(view.mapping)} rules" for view in views) or "none")
        self._warn(behind(self._tables, made))

    def watch(self, events: list[e.Event], _now: object) -> None:
        """A broker that registers through a view is named, once."""
        if self.views:
            new = [event for event in events if isinstance(event, e.BrokerRegistered) and event.gap_ms is None]
            self._warn({event.addr: name for event in new if (name := self._view_of(event)) is not None})

    def _view_of(self, event: e.BrokerRegistered) -> str | None:
        live = self._tables.live(event.cluster, event.addr)
        view = None if live is None or live.channel is None else self.views.through(live.channel)
        return None if view is None else view.name

    def _warn(self, brokers: dict[str, str]) -> None:
        if brokers:
            names = Counter(brokers.values())
            some = ", ".join(f"{addr} ({name})" for addr, name in [*brokers.items()][:BEHIND_NAMED_MAX])
            log.warning("views: %d brokers register through a view (%s): %s. They get announced addresses all the "
                        "same, but not before they have registered: take their hosts out of the networks of views",
                        len(brokers), ", ".join(names), some)  # fmt: skip


def behind(tables: RouteTables, views: Views) -> dict[str, str]:
    """The brokers that registered through a view: its name by their address. Control only."""
    if not views:
        return {}
    found = ((key.addr, live.channel) for key, live in tables.broker_live_table.items())
    return {addr: view.name for addr, channel in found if channel is not None
            and (view := views.through(channel)) is not None}  # fmt: skip


def _read(path: str, text: str, _: ReadFile) -> tuple[View, ...]:
    return read_views(path, text)
