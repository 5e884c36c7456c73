"""What leaves a ledger or is carried into one whole: upgrades, logs, copies, notes of its head, reports."""
