"""Where a ledger's rows live: one SQLite file, under one name, on one host, one writer at a time."""
