"""``python -m blowfish_privacy.cli``."""

from blowfish_privacy.cli.main import main

main()
