"""Clients that are no row of the table of clients: those that a registry has and that do not work with Java either."""

LEFT_OUT: tuple[tuple[str, str], ...] = ()
