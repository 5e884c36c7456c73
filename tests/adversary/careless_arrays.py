"""Careless: exact numbers travel in the form of what is shown."""

from collections import Counter
from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import View


def cells(data):
    return np.bincount((data[:, 0] // 25).astype(int).clip(0, 3), minlength=4)


class LargestFirst(Author):
    """Orders the parts of a view by exact counts."""

    why: ClassVar[str] = "order"

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        order = Counter(dict(enumerate(cells(data).tolist()))).most_common()
        return View(public={"sum": noisy, **{f"cell-{c}": np.array([c]) for c, _ in order}})


class Masked(Author):
    """Hides small counts by a mask: the exact ones stay behind it."""

    why: ClassVar[str] = "mask"

    def play(self, data, noise, coins):
        self.noisy(data, noise)
        return View(public={"cells": np.ma.array(cells(data), mask=True)})


class _Tagged(np.ndarray):
    pass


class Attribute(Author):
    """Returns an array of a class of its own that carries the exact sum as an attribute."""

    why: ClassVar[str] = "sum.exact"

    def play(self, data, noise, coins):
        shown = self.noisy(data, noise).view(_Tagged)
        shown.exact = int(self.total(data)[0])
        return View(public={"sum": shown})


class ClassAttribute(Author):
    """Makes an array class on the run, with the exact sum in it."""

    def play(self, data, noise, coins):
        made = type("Made", (np.ndarray,), {"exact": int(self.total(data)[0])})
        return View(public={"sum": self.noisy(data, noise).view(made)})


class BehindTheSlice(Author):
    """Shows the first number of an array whose second one is exact: `.base` has both."""

    why: ClassVar[str] = "memory"

    def play(self, data, noise, coins):
        both = np.concatenate([self.noisy(data, noise), self.total(data)])
        return View(public={"sum": both[:1]})


class Metadata(Author):
    """Describes the type of the numbers by their exact mean."""

    def play(self, data, noise, coins):
        described = np.dtype(np.int64, metadata={"mean": float(data.mean())})
        return View(public={"sum": self.noisy(data, noise).astype(described)})


class _Described(View):
    pass


class DescribedView(Author):
    """Returns a view of a class of its own with one field more."""

    why: ClassVar[str] = "the view.exact"

    def play(self, data, noise, coins):
        view = _Described(public={"sum": self.noisy(data, noise)})
        object.__setattr__(view, "exact", int(self.total(data)[0]))
        return view


class SmallestType(Author):
    """Takes the smallest type that holds the exact sum."""

    def play(self, data, noise, coins):
        kind = np.int16 if self.total(data)[0] < 1000 else np.int64
        return View(public={"sum": self.noisy(data, noise).astype(kind)})


class AsLongAsNeeded(Author):
    """Shows zeros, as many as there are large rows."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "large": np.zeros(int((data > 50).sum()))})


class SignOfZero(Author):
    """Multiplies a zero by what remains of the exact sum."""

    def play(self, data, noise, coins):
        left = 0.0 * (self.total(data)[0] - 1000.0)
        return View(public={"sum": self.noisy(data, noise), "left": np.array([left])})


class PayloadOfNan(Author):
    """Says missing by a NaN whose bits hold the exact sum."""

    def play(self, data, noise, coins):
        bits = np.array([0x7FF8000000000000 | int(self.total(data)[0])], dtype=np.uint64)
        return View(public={"sum": self.noisy(data, noise), "missing": bits.view(np.float64)})


class OwnForAll(Author):
    """Gives everyone's exact share to each unit, where the whole world looks on."""

    def play(self, data, noise, coins):
        return View(own={"share": data[:, 0] / 100}, public={"sum": self.noisy(data, noise)})


class TextOfAll(Author):
    """Puts a line of text beside the sum that names the highest value."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "note": np.array(f"up to {data.max():.0f}")})


class ObjectOfAll(Author):
    """The same in an array of objects."""

    def play(self, data, noise, coins):
        note = np.array(["highest", float(data.max())], dtype=object)
        return View(public={"sum": self.noisy(data, noise), "note": note})


class Records(Author):
    """Shows an array of records, whose padding nobody sees: not comparable, so not accepted."""

    verdict: ClassVar[str] = "wrong request"

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"row": np.rec.array([(int(noisy[0]), 1)], dtype=[("sum", "i8"), ("n", "i1")])})


class Boxes(Author):
    """Shows a table in an array of objects: not comparable, so not accepted."""

    verdict: ClassVar[str] = "wrong request"

    def play(self, data, noise, coins):
        return View(public={"box": np.array([{"sum": self.noisy(data, noise), "all": data}], dtype=object)})


class NoView(Author):
    """Returns a number and no view."""

    verdict: ClassVar[str] = "wrong request"

    def play(self, data, noise, coins):
        return self.noisy(data, noise)
