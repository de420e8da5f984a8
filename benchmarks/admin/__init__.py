"""What the management port costs: look-ups with it and without it, memory, and a storm beside a thousand scrapers."""
