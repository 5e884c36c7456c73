"""Pavlovic, Salgia & Zhao 2025, private prediction: errors on synthetic worlds."""
