"""The journal: what entries hold, the chain that they form, and its verification, repair and export."""
