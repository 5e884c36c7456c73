"""Mechanisms of the literature and of live libraries that break their claim, and sound twins of them.

They are plain functions ``f(data, rng)`` with NumPy's noise: something to attack, nothing to release with.
`audits.subjects.broken.table` says what each one claims.
"""
