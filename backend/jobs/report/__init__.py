"""One job as one HTML file, for export and share links."""
