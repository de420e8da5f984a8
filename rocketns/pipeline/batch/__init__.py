"""A whole run, `rocketns audit run`: it calls the jobs in order, stores their tables, and writes summary and report."""
