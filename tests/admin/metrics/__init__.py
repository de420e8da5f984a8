"""What a scrape shows after requests over the wire, and how Prometheus reads it."""
