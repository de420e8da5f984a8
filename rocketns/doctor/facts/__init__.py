"""What was gathered about name servers, addresses and brokers: values that checks read."""
