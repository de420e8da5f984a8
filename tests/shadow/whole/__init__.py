"""`rocketns shadow` as a process, in front of real name servers."""
