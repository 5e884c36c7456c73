"""Imports of users' modules from folders that are on the path only meanwhile."""

import importlib
import sys
from unittest.mock import patch


def on_path(folders):
    return patch.object(sys, "path", [*sys.path, *folders])


def import_subject(use, folders):
    module, _, name = use.partition(":")
    with on_path(folders):
        return getattr(importlib.import_module(module), name)
