"""How much a query changes under known facts: each theorem with its conditions, and the order they are tried in."""
