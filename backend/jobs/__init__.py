"""Jobs: created and validated here, watched here, their state changed only here."""
