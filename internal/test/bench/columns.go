package main

import "fmt"

// benchColumns compares queries that columns answer, once the store is compacted, with the count of a text.
func (b *suite) benchColumns(kind string) error {
	if kind != "json" {
		return nil
	}
	compact := b.command("shipper", "compact", "--after", "0s", "--grace", "0s", "--max-age", "3650d", "--columns",
		"duration_ms,bytes,user")
	compacted, err := compact.run()
	if err != nil {
		return err
	}
	compacted.print("compact, with columns of two numbers and users", &b.shipped, "shipping")
	in := []string{"-s", "bench", "--from", from, "--to", to}
	query := func(args ...string) *command {
		return b.command("logq", append(append([]string{"query"}, in...), args...)...)
	}
	stats := func(args ...string) *command {
		return b.command("logq", append(append([]string{"stats"}, in...), args...)...)
	}
	names := []string{
		"full scan, --count PATTERN", "columns: --where 'status >= 500' --count", "columns: --by status", "columns: --by status,minute",
		"columns: avg, max(duration_ms)", "columns: p99(duration_ms) --by region,5m", "columns: --where 'duration_ms > 300' --count",
		"columns: few lines of two conditions", "columns: distinct(user)", "columns: --by user, the first ten",
	}
	if _, err := b.compare("full scan", names,
		query("--count", "connection reset"), query("--where", "status >= 500", "--count"), stats("--by", "status"), stats("--by", "status,minute"),
		stats("--compute", "avg(duration_ms), max(duration_ms)"), stats("--by", "region,5m", "--compute", "p99(duration_ms)"),
		query("--where", "duration_ms > 300", "--count"), query("-o", "raw", "--where", "status == 502 and bytes > 99900"),
		stats("--compute", "distinct(user)"), stats("--by", "user", "-n", "10")); err != nil {
		return fmt.Errorf("columns: %w", err)
	}
	return nil
}
