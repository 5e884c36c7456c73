"""``python -m dpaccount``: what the console script that is installed under this name runs."""

from dpaccount_packages import command

if __name__ == "__main__":
    command()
