"""The privacy curve of Gaussian noise by mpmath, and exact numbers as its."""

from fractions import Fraction

import mpmath


def real(value):
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def gaussian_delta(mu, epsilon):
    a = epsilon / mu
    return mpmath.ncdf(mu / 2 - a) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - a)
