"""What reactors check of a peer: its networks, and the signed lookups that control has allowed."""
