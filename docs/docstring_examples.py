"""Examples of docstrings, which begin with >>>, are shown as code on the site."""

import re
from typing import Any

from griffe import Extension, Object

#: An example: from >>> to the next empty line, indented or not.
EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


class Fences(Extension):
    """Puts a fence around every example of a docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Write the fences."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"\1```python\n\g<0>\n\1```", obj.docstring.value)
