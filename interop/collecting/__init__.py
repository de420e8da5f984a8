"""Name servers of both kinds watched by `rocketns collect`: the audit of what it wrote, and of their own journals."""
