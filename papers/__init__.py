"""Four papers, one folder each: reproduced figures and tables, settings, and regret bounds."""
