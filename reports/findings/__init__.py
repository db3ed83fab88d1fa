"""What a run says, before anybody puts it into words: pure functions of what the store holds."""
