"""Long work: pure functions of seeds, done in groups, kept as they are done, and never done twice.

`series` says what is to be done, `run` does it on the workers that `workers` provides, `results` keeps
it.  A group is named by the digest of the code, of what is computed, and of its seeds (`described`,
`version`), so that a command that was killed goes on where it was, to the same bytes.
"""
