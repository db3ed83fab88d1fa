"""Makes the pages of docs/ out of the records, and the table of published libraries."""
