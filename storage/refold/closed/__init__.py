"""The closed worker: a pure function, bytes in and bytes out, in a fresh process that has closed itself off from everything else."""
