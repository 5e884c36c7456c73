"""Mechanisms under test: the catalogue, user code and its files, known broken functions."""
