"""Relations and groups that are parts of others, or made of them."""
