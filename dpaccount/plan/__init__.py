"""Plans of releases: events, the file that lists them, classes of units, groups."""
