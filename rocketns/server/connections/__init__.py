"""The asyncio transport and its connections."""
