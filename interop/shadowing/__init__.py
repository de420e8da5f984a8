"""`rocketns shadow` in front of Java's name server, with real brokers, clients and mqadmin."""
