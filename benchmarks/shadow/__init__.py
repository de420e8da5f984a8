"""What `rocketns shadow` costs the clients of a name server, and the machine."""
