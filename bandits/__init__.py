"""Private kernel bandits that draw their budget from dpaccount."""
