"""The fleet as its operators plan it: clients, error budgets, single points of failure, storms, growth."""
