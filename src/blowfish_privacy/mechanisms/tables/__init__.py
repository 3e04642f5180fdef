"""Sets of tables that agree: which tables get how much noise, and what is made of them."""
