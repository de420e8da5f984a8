"""From records to history: whose clock, which records are missing, who was up, who had which brokers and topics."""
