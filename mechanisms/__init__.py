"""Private mechanisms: one file each, with its query, sensitivity, proof and release."""
