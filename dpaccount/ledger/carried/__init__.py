"""What leaves a ledger or is carried into one whole: logs, copies, notes of its head, reports."""
