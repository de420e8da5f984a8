"""`rocketns get`, `diff`, `top` and `completion`: what a shell asks of any name server."""
