"""Places at which code about time goes wrong: leap days, ends of months, hours when clocks change."""

from datetime import date, timedelta

EPOCH, FIRST, RECENT, LAST = (date(year, 1, 1).toordinal() for year in (1970, 1800, 1980, 2200))
#: (ordinal of the day that is 0, length of a day): ordinals, days of spreadsheets, all units since 1970
UNITS = (
    (0, 1),
    (date(1899, 12, 30).toordinal(), 1),
    *((EPOCH, n) for n in (1, 24, 1440, 86_400, 86_400_000)),
)
LEAST, MOST = 300, 500  #: days of a column of times; places of a column
SUNDAYS = ((3, 8), (3, 25), (10, 25), (11, 1))  #: clocks change on the first Sunday from these days on
HALF_HOURS = 24  #: of the day, in UTC, in which clocks of Europe and America change


def times(low: float, high: float) -> list[float]:
    """Return such places of a column if its range may be that of days or of times since 1970."""
    places: list[float] = []
    for zero, length in UNITS:
        first, last = (int(end // length) + zero for end in (low, high))
        if FIRST <= first <= last - LEAST and RECENT <= last <= LAST:
            days, nights = _days(range(date.fromordinal(last).year, date.fromordinal(first).year - 1, -1))
            halves = [half * length // 48 - k for half in range(HALF_HOURS) for k in (0, 1)]
            starts = [(day.toordinal() - zero) * length for day in (*days, *nights)]
            places += [start + k for start in starts[: len(days)] for k in (0, length - 1)]
            places += [start + k for start in starts[len(days) :] for k in halves if length > 1]
    return list(dict.fromkeys(place for place in places if low <= place <= high))[:MOST]


def _days(years: range) -> tuple[list[date], list[date]]:
    """Return days around leap days, and ends of the last years' months; and Sundays of clock changes."""
    days = [date(year, 3, 1) - timedelta(k) for year in years if year % 4 == 0 for k in range(3)]
    days += [
        date(year, month, 1) - timedelta(k) for year in years[:2] for month in range(1, 13) for k in (0, 1)
    ]
    firsts = [date(year, month, day) for year in years[:1] for month, day in SUNDAYS]
    return days, [day + timedelta(6 - day.weekday()) for day in firsts]
