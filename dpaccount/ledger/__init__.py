"""The durable budget ledger: charges before noise, receipts, filters, and a hash chain."""
