"""For which targets the Triton of a column compiles: `crosswarp targets --probe` runs it there."""
