"""Routes that survive a restart: real servers on real sockets, killed and started again."""
