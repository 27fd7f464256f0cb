// Package parquet writes Apache Parquet: rows of any columns, and results of stats.
package parquet
