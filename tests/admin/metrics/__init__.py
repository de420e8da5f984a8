"""What a scrape says after things that happened on the wire, and what Prometheus makes of it."""
