"""What a command asks for, done here or in a process of its own."""
