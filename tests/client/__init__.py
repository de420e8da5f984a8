"""The remoting client, and what it asks name servers."""
