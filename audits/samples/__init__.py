"""Results that were drawn elsewhere: reading them, and comparing two sets of them."""
