"""What collecting from outside costs the name server and the collector."""
