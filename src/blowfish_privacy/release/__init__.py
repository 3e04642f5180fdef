"""From a policy file to a release: the one room where data are read and noise is added."""
