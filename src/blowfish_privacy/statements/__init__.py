"""What is said about releases: the policy card, its page and its registry."""
