"""Rivers, their lengths, and what is asked of them."""
