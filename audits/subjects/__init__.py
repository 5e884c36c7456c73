"""What a claim can be about: the catalogue, one's own code and its files, functions known to be broken."""
