"""Commands that run and administer the platform, such as `reinforge up`, `backup` and `project`."""
