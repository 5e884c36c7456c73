"""Prefix sums of a stream: trees and factorisations of the matrix of sums."""
