// Command loggen writes generated log lines to standard output.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"logstow/internal/test/loggen"
	"logstow/internal/units"
)

func main() {
	kind := flag.String("kind", "json", "json, nginx or hdfs")
	size := flag.String("size", "10MB", "bytes to write")
	start := flag.String("start", "", "time of the first line; empty lets the last line be of now")
	span := flag.Duration("span", 30*time.Minute, "time from the first line to the last")
	seed := flag.Uint64("seed", 1, "the same seed and start give the same lines")
	flag.Parse()
	if err := run(*kind, *size, *start, *span, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "loggen:", err)
		os.Exit(1)
	}
}

func run(kind, size, start string, span time.Duration, seed uint64) error {
	bytes, err := units.ParseSize(size)
	if err != nil {
		return err
	}
	from := time.Now().Add(-span)
	if start != "" {
		if from, err = time.Parse(time.RFC3339, start); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	return loggen.Write(os.Stdout, loggen.Options{Kind: kind, Size: bytes, Start: from, Span: span, Seed: seed})
}
