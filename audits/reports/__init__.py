"""Certificates for people: pages, texts, pictures, what standards ask for, and two compared."""
