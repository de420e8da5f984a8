"""TLS without sockets: contexts, suites, one connection, and handshakes that take turns."""
