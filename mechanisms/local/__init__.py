"""The local model: what each person holds and randomises by themselves."""
