"""`rocketns doctor`: asks any name servers and their brokers what is needed to say why clients find no route."""
