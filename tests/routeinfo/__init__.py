"""Tests of rocketns.routeinfo: the tables, their mutations and queries, with a clock that tests move."""
