"""What a broker registers: RegisterBrokerBody in all its forms."""
