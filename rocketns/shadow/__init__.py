"""`rocketns shadow`: passes traffic through to another name server, and compares its answers with rocketns'."""
