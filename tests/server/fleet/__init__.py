"""The other name servers, read again and again, and compared with this one."""
