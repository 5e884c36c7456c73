"""Neighbouring datasets: what shape they have and which are tried."""
