"""What name servers say, in forms that can be compared: no sockets, clocks or threads."""
