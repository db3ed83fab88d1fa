"""Findings as text: for terminals, Markdown, programs, pictures."""
