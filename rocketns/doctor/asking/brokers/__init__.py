"""Asks the addresses that brokers announce, and the brokers behind them."""
