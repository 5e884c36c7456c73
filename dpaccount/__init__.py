"""Privacy accounting with rigorous enclosures, a proof kernel, its checker and a durable ledger."""

__version__ = "0.1.0"
