"""Template, style and script of the HTML report."""
