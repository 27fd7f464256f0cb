// Package report writes results of stats: as a table for people, CSV, JSON or Parquet.
package report

import "time"

// The formats.
const (
	// Table is aligned columns for people. A missing value is "-", a share and a ratio are in percent,
	// fractions are rounded.
	Table = "table"
	// JSON is a JSON object per line. Numbers are exact, times are in RFC 3339, a missing value is null. If values of the
	// row are approximate, the member "approximate" has their headers.
	JSON = "json"
	// CSV follows RFC 4180. The first line has the headers, with "~" before those of functions with approximate values. A
	// missing value is empty.
	CSV = "csv"
	// Parquet is a file of Apache Parquet, with a type for each column: see package parquet.
	Parquet = "parquet"
)

// Formats are all formats.
func Formats() []string { return []string{Table, JSON, CSV, Parquet} }

// Options are how to write.
type Options struct {
	Format string
	// Zone is the time zone; nil is UTC.
	Zone *time.Location
	// Width is the number of columns of a terminal on which a table also has bars, after rows and as sparklines of groups over time; 0
	// draws none.
	Width int
}
