"""Findings of the laboratory as files to hand on."""
