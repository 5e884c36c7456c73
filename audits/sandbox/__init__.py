"""Code of others, run in processes of its own."""
