"""Tells brokers and clients over HTTP where the name servers are, so that they need no list of their own."""
