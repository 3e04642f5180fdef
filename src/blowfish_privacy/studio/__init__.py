"""The studio: a page in the browser, on the publisher's own machine, over the same files, plans, releases and ledgers.

Only ``launch``, ``page``, ``rooms`` and ``parts`` know NiceGUI; nothing here decides anything about privacy.
"""
