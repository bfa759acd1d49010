"""Database, migrations, stored objects, sealed secrets and notifications."""
