"""The audit: mechanisms, known facts, odds and policy files, tried as an attacker or a careless user would."""
