"""`dpaccount serve`: a small HTTP service that is the only writer of a ledger, and its tokens."""
