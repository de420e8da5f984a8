"""The connections of the asyncio lane."""
