"""What a clinic adds to dpaccount: a mechanism, a bandit, a command and a part of reports."""
