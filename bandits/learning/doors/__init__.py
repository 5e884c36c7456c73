"""Ways in for users of other libraries."""
