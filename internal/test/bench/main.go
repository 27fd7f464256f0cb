// Command bench measures Logstow as a user would: whole processes on generated logs, CPU seconds
// and peak memory as counted by the operating system, each figure next to its baseline, measured
// alternately in the same run.
//
//	go run ./internal/test/bench [-size 500MB] [-runs 3] [-kind json]
//
// With AZURE_STORAGE_CONNECTION_STRING set it ships there too; for Azurite:
//
//	go run ./internal/test/azurite/cmd/azurite-run go run ./internal/test/bench
//	go run ./internal/test/azurite/cmd/azurite-run go run ./internal/test/bench -fleet 2550
//
// VictoriaLogs beside it, once built (go install github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs@v1.52.1):
//
//	go run ./internal/test/bench -victorialogs ~/go/bin/victoria-logs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"logstow/internal/test/loggen"
	"logstow/internal/units"
)

func main() {
	size := flag.String("size", "500MB", "bytes of logs")
	kind := flag.String("kind", "json", "json, nginx or hdfs")
	runs := flag.Int("runs", 3, "runs of each measurement; the median is shown")
	fields := flag.Bool("fields", false, "measure what fields cost only")
	logql := flag.Bool("ql", false, "measure LogQL only")
	attributes := flag.Bool("attributes", false, "measure what attributes cost only")
	export := flag.Bool("export", false, "measure shipper export only")
	fleet := flag.Int("fleet", 0, "measure compaction of so many segments instead; needs AZURE_STORAGE_CONNECTION_STRING")
	peer := flag.String("victorialogs", "", "compare with VictoriaLogs instead: the path of its program")
	part := flag.String("part", "", "internal: run one comparison part on the files that follow")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *part != "":
		err = runPart(ctx, *part, flag.Args())
	case *fleet > 0:
		err = benchFleet(ctx, *fleet, *runs)
	default:
		err = bench(ctx, *kind, *size, *runs, only{*fields, *logql, *attributes, *export}, *peer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start is the time of the first generated line, span the time to the last.
const (
	start = "2026-11-20T15:00:00Z"
	span  = 30 * time.Minute
	from  = "2026-11-20T15:00:00Z"
	to    = "2026-11-20T16:00:00Z"
)

// only selects one measurement instead of all.
type only struct{ fields, logql, attributes, export bool }

func bench(ctx context.Context, kind, size string, runs int, one only, peer string) error {
	bytes, err := units.ParseSize(size)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "logstow-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &suite{ctx: ctx, dir: dir, runs: runs, input: filepath.Join(dir, "input.log"), size: bytes, store: filepath.Join(dir, "store")}
	if err := b.prepare(kind); err != nil {
		return err
	}
	fmt.Printf("%s of %s, medians of %d runs; CPU is user + system of the whole process\n\n", size, kind, runs)
	if peer != "" {
		return b.benchPeer(peer)
	}
	fmt.Printf("%-44s %8s %8s %9s %8s %8s   %s\n", "", "CPU s", "wall s", "peak MiB", "faults", "ratio", "of")
	switch {
	case one.fields:
		return b.benchFormats()
	case one.logql:
		return b.benchQL(kind)
	case one.attributes:
		return b.benchAttributes()
	case one.export:
		return b.benchExport()
	}
	if err := b.benchStart(); err != nil {
		return err
	}
	if err := b.benchReading(); err != nil {
		return err
	}
	if err := b.benchShipping(); err != nil {
		return err
	}
	if err := b.benchQueries(kind); err != nil {
		return err
	}
	if err := b.benchSorting(kind); err != nil {
		return err
	}
	if err := b.benchColumns(kind); err != nil {
		return err
	}
	if err := b.benchQL(kind); err != nil {
		return err
	}
	if err := b.benchAttributes(); err != nil {
		return err
	}
	if err := b.benchExport(); err != nil {
		return err
	}
	return b.benchFormats()
}

// suite is one run of the benchmark on one input.
type suite struct {
	ctx   context.Context
	dir   string
	input string
	store string
	size  int64
	runs  int
	// shipped is the row of shipping the input durably.
	shipped row
}

// build builds the binaries.
func (b *suite) build() error {
	build := exec.CommandContext(b.ctx, "go", "build", "-o", b.dir+"/", "./cmd/shipper", "./cmd/logq", "./internal/test/bench")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// prepare builds the binaries and generates the input.
func (b *suite) prepare(kind string) error {
	if err := b.build(); err != nil {
		return err
	}
	return b.generate(kind)
}

// generate writes lines of a kind to the input.
func (b *suite) generate(kind string) error {
	f, err := os.Create(b.input)
	if err != nil {
		return err
	}
	first, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return err
	}
	err = loggen.Write(f, loggen.Options{Kind: kind, Size: b.size, Start: first, Span: span, Seed: 1})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// benchShipping compares the whole shipper with compressing the same bytes alone.
func (b *suite) benchShipping() error {
	buffer := filepath.Join(b.dir, "buffer")
	ship := func(args ...string) *command {
		c := b.command("shipper", append([]string{"run", "--once", "--service", "bench", b.input}, args...)...)
		c.before = func() error { return errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)) }
		return c
	}
	commands := []*command{b.part("compress", b.input), ship("--buffer", "memory"), ship("--buffer-dir", buffer)}
	if os.Getenv("AZURE_STORAGE_CONNECTION_STRING") != "" {
		azure, run := ship("--buffer-dir", buffer), 0
		azure.before = func() error { // a separate container for every run
			run++
			azure.store = fmt.Sprintf("azblob://bench-%d-%d", os.Getpid(), run)
			return os.RemoveAll(buffer)
		}
		commands = append(commands, azure)
	}
	names := []string{"compress alone, 1 MiB blocks", "shipper run --once --buffer memory", "shipper run --once (durable)", "shipper run --once (durable) to Azure"}
	rows, err := b.compare("compress alone", names, commands...)
	if err != nil {
		return err
	}
	b.shipped = rows[2]
	for line := range strings.Lines(rows[2].errs) {
		if strings.Contains(line, "done") {
			fmt.Print("  ", line)
		}
	}
	return nil
}

// benchStart compares the start of the programs with that of one that prints a line.
func (b *suite) benchStart() error {
	source := filepath.Join(b.dir, "hello.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-o", filepath.Join(b.dir, "hello"), source).CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	names := []string{"a program that prints a line", "logq --version", "shipper --version"}
	_, err := b.compare("it", names, b.command("hello"), b.command("logq", "--version"), b.command("shipper", "--version"))
	return err
}

// benchReading compares the shipper with sending the same bytes unparsed through its buffer and
// storage.
func (b *suite) benchReading() error {
	buffer := filepath.Join(b.dir, "buffer")
	clean := func(c *command) *command {
		c.before = func() error { return errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)) }
		return c
	}
	ship := func(args ...string) *command {
		return clean(b.command("shipper",
			append([]string{"run", "--once", "--service", "bench", "--buffer-dir", buffer, b.input}, args...)...))
	}
	names := []string{"copy lines, nothing looked for", "copy pieces of 256 KiB", "shipper run --once", "shipper run --once --multiline auto", "shipper run --once --redact all"}
	_, err := b.compare("copy lines", names,
		clean(b.part("lines", b.input, buffer)), clean(b.part("pieces", b.input, buffer)), ship(), ship("--multiline", "auto"), ship("--redact", "all"))
	return err
}

// benchQueries compares queries with decompressing the same segments and searching in memory.
func (b *suite) benchQueries(kind string) error {
	segments, err := segmentsIn(b.store)
	if err != nil {
		return err
	}
	pattern := map[string]string{"json": "connection reset", "nginx": "catalog/items", "hdfs": "allocateBlock"}[kind]
	within := func(from, to string, args ...string) *command {
		return b.command("logq", append([]string{"query", "-s", "bench", "--from", from, "--to", to}, args...)...)
	}
	query := func(args ...string) *command { return within(from, to, args...) }
	patterns := func(args ...string) *command {
		return b.command("logq", append([]string{"patterns", "-s", "bench", "--from", from, "--to", to, "-o", "csv"}, args...)...)
	}
	names := []string{"decompress and count alone", "full scan, --count PATTERN", "needle (one line of all)", "two minutes of errors", "count by level: error,fatal", "newest 100", "print PATTERN's lines", "print them with -o pretty", "patterns of all", "patterns, two halves compared"}
	commands := []*command{
		b.part("scan", append([]string{pattern}, segments...)...),
		query("--count", pattern),
		query(loggen.Needle),
		within("2026-11-20T15:06:00Z", "2026-11-20T15:08:00Z", "-l", "error", "-o", "text"),
		query("--count", "-l", "error,fatal"),
		query("--newest", "-n", "100"),
		query("-o", "raw", pattern),
		query("-o", "pretty", "--color", "always", pattern),
		patterns(),
		patterns("--before", "2026-11-20T15:15:00Z"),
	}
	if _, err := exec.LookPath("zstd"); err == nil {
		names = append(names, "zstd -dc | grep -F PATTERN")
		commands = append(commands, &command{
			suite: b,
			path:  "sh",
			args:  append([]string{"-c", `p=$1; shift; zstd -dc "$@" | grep -F -e "$p"`, "sh", pattern}, segments...),
		})
	}
	_, err = b.compare("decompress alone", names, commands...)
	return err
}
