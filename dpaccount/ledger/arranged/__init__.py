"""What a team arranges in a ledger, and what is answered of where it stands."""
