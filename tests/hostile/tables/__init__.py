"""What the route tables may hold, and what one small request may cost control."""
