"""E-mail to members: subscriptions, confirmed addresses, delivery over SMTP."""
