"""Sound verdicts that may be kept: what they rest on, recorded where code runs and compared before use."""
