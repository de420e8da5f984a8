"""Asks other servers, politely: the remoting client, its limits and pauses, and what name servers may be asked."""
