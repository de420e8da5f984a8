"""What real clients send to a name server, recorded before Java's: a corpus that rocketns is held to."""
