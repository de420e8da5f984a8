"""The properties about all name servers of a cluster: which they are, and how others find them."""
