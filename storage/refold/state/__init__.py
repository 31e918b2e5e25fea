"""The state: generations of encrypted runs, and what is asked of them."""
