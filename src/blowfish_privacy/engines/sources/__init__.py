"""Where rows come from: files, frames, databases, arrays."""
