"""The audit: mechanisms, known facts and odds, tried as an attacker would."""
