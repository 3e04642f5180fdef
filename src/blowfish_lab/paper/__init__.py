"""The 2014 paper: its figures and examples run again, beside what is printed and what this library does.

What does not hold there is not private here either, and says so in its name.
"""
