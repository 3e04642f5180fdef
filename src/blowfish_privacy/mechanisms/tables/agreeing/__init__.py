"""Tables without negative counts, and of whole numbers, that still agree."""
