"""The 2014 paper as printed, for comparison. What does not hold there is not private here either, and says so."""
