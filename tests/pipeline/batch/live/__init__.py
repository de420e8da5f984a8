"""Audits of a fleet that is running: real name servers on a clock that the test moves."""
