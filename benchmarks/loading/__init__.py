"""What loads the servers: brokers, their registrations, and the load programs in C."""
