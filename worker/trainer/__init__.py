"""The trainer process: composition root, engines, plug-ins, and its reports to the supervisor."""
