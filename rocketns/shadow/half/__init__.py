"""The own half: a whole name server in a process of its own, which the relay's process starts and ends."""
