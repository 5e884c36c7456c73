"""Requests about user code, which runs in worker processes: this process never imports it.

For a mechanism class the whole request runs in a worker.  Plain functions ``f(data, rng)`` are
attacked from here; they have no proof, so the verdict is REFUTED or UNPROVEN.
"""
