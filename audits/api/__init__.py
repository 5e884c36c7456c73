"""Typed requests and results, shared by the command line, Python and the pytest plugin."""
