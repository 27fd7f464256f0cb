package output

import (
	"fmt"
	"io"
	"slices"
)

// Formats returns all formats.
func Formats() []string { return []string{Raw, Text, JSON, Flat, CSV, Parquet, Pretty, Template} }

// Check returns an error unless this package has the format.
func Check(format string) error {
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("%q is not an output format (raw, text, json, flat, csv, parquet, pretty or template)", format)
	}
	return nil
}

// WriteCount prints a number of records: {"count":N} in JSON and flat, a column count in CSV, and
// the number alone in the other formats.
func WriteCount(w io.Writer, format string, n uint64) (err error) {
	switch format {
	case JSON, Flat:
		_, err = fmt.Fprintf(w, "{\"count\":%d}\n", n)
	case CSV:
		_, err = fmt.Fprintf(w, "count\n%d\n", n)
	default:
		_, err = fmt.Fprintln(w, n)
	}
	return err
}
