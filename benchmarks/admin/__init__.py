"""What the management port costs: lookups with it and without it, memory, and a storm beside a thousand scrapers."""
