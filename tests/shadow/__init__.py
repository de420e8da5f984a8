"""The shadow: pairs and their judging, the relay, recorded frames."""
