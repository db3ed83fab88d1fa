"""Observers of an emulator while it executes."""
