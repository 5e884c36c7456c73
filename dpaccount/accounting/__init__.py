"""What a plan of releases costs: totals, the worst unit, filters, calibration, answers."""
