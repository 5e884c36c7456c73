"""Imports of users' modules from folders that are on the path only meanwhile."""

import importlib
import sys
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def on_path(folders):
    with patch.object(sys, "path", [*sys.path, *folders]):
        yield


def import_subject(use, folders):
    module, _, name = use.partition(":")
    with on_path(folders):
        return getattr(importlib.import_module(module), name)
