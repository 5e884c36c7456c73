"""Property tests of the hypotheses that a proof rests on."""
