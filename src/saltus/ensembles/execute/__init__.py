"""Who computes: this process, a pool of processes or a cluster; from the start to the last sample."""
