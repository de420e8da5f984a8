"""To which announced addresses the server connects, and whom it asks in the cluster-test mode."""
