"""Who takes part: whole name servers, and models of brokers, clients and an administrator."""
