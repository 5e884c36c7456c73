"""The balances: what all entries of the journal add up to, and how each kind of entry changes it."""
