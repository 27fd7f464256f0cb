// Command loggen writes generated log lines to standard output.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"logstow/internal/cli"
	"logstow/internal/loggen"
)

func main() {
	kind := flag.String("kind", "json", "json or hdfs")
	size := flag.String("size", "10MB", "bytes to write")
	start := flag.String("start", "2026-11-20T15:00:00Z", "time of the first line")
	span := flag.Duration("span", 30*time.Minute, "time from the first line to the last")
	seed := flag.Uint64("seed", 1, "the same seed gives the same lines")
	flag.Parse()
	if err := run(*kind, *size, *start, *span, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "loggen:", err)
		os.Exit(1)
	}
}

func run(kind, size, start string, span time.Duration, seed uint64) error {
	bytes, err := cli.ParseSize(size)
	if err != nil {
		return err
	}
	from, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return loggen.Write(os.Stdout, loggen.Options{Kind: kind, Size: bytes, Start: from, Span: span, Seed: seed})
}
