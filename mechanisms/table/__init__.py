"""Tables: columns declared in public, cells read one by one, several rows of one person bounded.

Everything declared is public and nothing read is: a cell that is missing, of another type or out of range
takes its declared default or bound, so that reading is a function of one row and neighbours stay neighbours.
"""

from mechanisms.table.columns import COLUMN_KINDS, Column
from mechanisms.table.declaration import Table

__all__ = ["COLUMN_KINDS", "Column", "Table"]
