"""What is tested as a mechanism: those of `mechanisms`, and those of `bandits` that release rows."""

from audits.subjects.catalogue import CatalogueEntry, entries

#: of `bandits`, where it is installed
OF_BANDITS = {"fixed-map", "projection"}


def mechanisms() -> list[CatalogueEntry]:
    return [entry for entry in entries() if entry.layer == "mechanisms" or entry.name in OF_BANDITS]
