"""What known facts tell apart: classes of values, and the secret pairs between them."""
