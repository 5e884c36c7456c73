"""Public points that bandits optimise over: what they are called, where they lie, what is alike."""
