"""Which principals of a policy a peer can be, without looking at each of them."""
