"""`rocketns get`, `diff`, `top`, `access` and `completion`: what a shell asks of any name server, and of a policy."""
