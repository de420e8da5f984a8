"""A name server that starts empty reads the routes from another one."""
