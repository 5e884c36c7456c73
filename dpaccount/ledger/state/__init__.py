"""What all entries of a ledger come to: totals, scopes, cohorts, reservations, and how entries change it."""
