"""The audit held to what real consumers did: a fleet with one cut, what was seen of it, and what the audit says."""
