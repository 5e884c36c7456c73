"""Long work: pure functions of seeds, done in groups, kept where asked, and never done twice.

`run` does it on the workers that `workers` provides, `results` keeps it.  A group is named by the
digest of what is computed (`described`) and of the code (`version`), and by its seeds, so that a
command that was killed goes on where it was, to the same bytes.
"""
