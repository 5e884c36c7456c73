"""What is to be released: events, the file that lists them, classes of units, groups."""
