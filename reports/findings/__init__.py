"""The findings of a run, before they are worded: pure functions of the store."""
