"""``python -m dpaccount``: the console script that is installed under this name.

The command line lives in a higher layer, so it is looked up instead of imported.
"""

from importlib.metadata import entry_points

if __name__ == "__main__":
    (script,) = entry_points(group="console_scripts", name="dpaccount")
    script.load()()
