"""What is said about policies, plans, ledgers and releases: cards, words, and plain values for JSON.

The command line prints these, and a page can show the same.
"""
