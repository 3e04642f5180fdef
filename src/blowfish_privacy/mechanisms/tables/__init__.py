"""Sets of tables that agree, measured together."""
