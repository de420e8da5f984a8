"""Tests of rocketns.routeinfo: the tables, their mutations and what is read from them, under a clock that is moved."""
