"""The other name servers of the fleet, read again and again, and compared with this one."""
