"""`rocketns/_fast/reactor/`: its connection table, a connection's turn, moving, and streams of requests."""
