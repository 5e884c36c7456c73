"""The stores: SQLite files and PostgreSQL schemas, their transactions, locks and connections."""
