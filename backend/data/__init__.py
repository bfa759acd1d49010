"""Database, migrations, stored objects, sealed secrets, notifications."""
