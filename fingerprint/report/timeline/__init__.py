"""What happened on a host as text, a picture, a page, Markdown; made from the contract alone."""
