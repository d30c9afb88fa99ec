"""Many runs of one scenario with uncertain numbers: what is drawn, run, kept and looked at."""
