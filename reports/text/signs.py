"""The sign of each outcome, where a word is too long. Imports nothing: `crosswarp why` has it with the base alone."""

# What a colour says is also said by a sign. Each is in the fonts that systems come with.
SIGNS = {
    "pass": "✓",
    "mismatch": "≠",
    "api-error": "!",
    "compile-error": "✗",
    "crash": "†",
    "fault": "‡",
    "limit": "▲",
    "timeout": "∞",
    "unsupported": "–",
    "not-run": "?",
}
