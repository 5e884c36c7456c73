"""Sandbox: runs untrusted code in separate processes."""
