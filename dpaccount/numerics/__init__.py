"""Certified numbers: privacy curves, their composition, conversion and inversion.

Every function that returns a bound returns a bound: evaluated in ball arithmetic or exact integers,
rounded to the safe side. Searches for good parameters run in floats; a bad one widens an
enclosure, it never breaks it.
"""
