"""Plain functions of authors: in threads, so that none of them stops anybody else."""
