"""Logged trials: who was offered which arm and what came of it, counts by arm, estimates of their means."""
