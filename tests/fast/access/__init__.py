"""`rocketns/_fast/access/`: networks, digests of signed lookups, and what reactors answer under a policy."""
