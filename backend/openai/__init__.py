"""OpenAI's wire: translates to the services of the rooms, and owns no state."""
