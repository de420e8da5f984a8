"""Real brokers, clients and mqadmin at a name server that asks who they are."""
