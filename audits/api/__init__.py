"""Typed requests and answers: what the command line, Python and the pytest plugin build and dispatch."""
