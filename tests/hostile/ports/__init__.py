"""What strangers do to the HTTP ports: the management port and the address server."""
