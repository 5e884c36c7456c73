"""Tables: public declarations of columns, cells read one by one, contribution bounding per person.

All declarations are public, all cell values private: a cell that is missing, of another type or out
of range takes its declared default or bound, so each row is read independently and neighbours stay
neighbours.
"""

from mechanisms.table.columns import COLUMN_KINDS, Column, Table

__all__ = ["COLUMN_KINDS", "Column", "Table"]
