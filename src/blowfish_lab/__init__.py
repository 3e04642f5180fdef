"""Evidence about the library: the paper's experiments reproduced, and a black-box audit."""
