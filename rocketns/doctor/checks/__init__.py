"""The checks: each is one function from facts to findings, in one table."""
