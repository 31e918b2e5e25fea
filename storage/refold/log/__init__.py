"""The log: signed commits over immutable Parquet parts whose rows are sealed, chained entries."""
