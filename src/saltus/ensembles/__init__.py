"""Many runs of one scenario with values drawn for some of its keys."""
