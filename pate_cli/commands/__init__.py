"""One module for each sub-command."""
