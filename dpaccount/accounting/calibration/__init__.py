"""Calibration: the one unknown number of a plan, and the search for the value that meets a target."""
