"""What both HTTP ports, the management port and the address server, read from a peer."""
