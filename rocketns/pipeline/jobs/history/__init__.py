"""From records to history: clock offsets, missing records, uptime, and the brokers and topics of each name server."""
