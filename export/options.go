package export

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"logstow/export/datafile"
	"logstow/internal/price"
)

const (
	day = 24 * time.Hour
	// fileSize is the default size at which a data file ends.
	fileSize = 256 << 20
	// commitSize is the size of data files from which they are committed before the end of the run, so that a long one is not lost.
	commitSize = 1 << 30
	// txnMargin is how much longer than the maximum age transactions are kept.
	txnMargin = 30 * day
	// checkpointEvery is the number of commits from one checkpoint to the next.
	checkpointEvery = 10
	// maxRounds is how often a run begins again because another one committed what it was to commit.
	maxRounds = 5
)

// Column names a field that gets a column of the table.
type Column struct {
	Field string
	Kind  datafile.Kind
}

// ParseColumn parses FIELD, FIELD:string, FIELD:integer or FIELD:number.
func ParseColumn(text string) (Column, error) {
	field, kind, _ := cutLast(text, ':')
	kinds := map[string]datafile.Kind{"string": datafile.String, "integer": datafile.Integer, "number": datafile.Number}
	k, ok := kinds[kind]
	if !ok {
		field, k = text, datafile.String
	}
	if field == "" {
		return Column{}, fmt.Errorf("%q: want FIELD, FIELD:integer or FIELD:number", text)
	}
	return Column{field, k}, nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// Options configure Run.
type Options struct {
	// Keep is how long after their end days stay in the table; 0 is forever.
	Keep time.Duration
	// MaxAge is the maximum time since the end of a day that is exported.
	MaxAge time.Duration
	// Columns are fields with a column of their own, besides those that the table has.
	Columns []Column
	// DryRun reports what would be exported, removed and deleted, and writes nothing.
	DryRun bool
	// FileSize is the size in bytes at which a data file ends; 0 is 256 MiB.
	FileSize int64
	// Compression is that of the data files; "" is [datafile.Snappy].
	Compression datafile.Compression
	// TempDir is the directory of temporary files, each a data file; "" is the system's.
	TempDir string
	// Prices are the prices of requests; nil is [price.Default].
	Prices *price.Table
	// Progress is updated during the run. It may be nil.
	Progress *Progress
	// Log receives messages for operators. Nil discards them.
	Log *slog.Logger
}

// DefaultOptions returns the options of shipper export without flags.
func DefaultOptions() Options { return Options{MaxAge: 30 * day, FileSize: fileSize} }

// Progress is the progress of a run. Its fields may be read at any time.
type Progress struct {
	// Services is the number of services, Listed that of those whose outputs are listed.
	Services, Listed atomic.Int64
	// Units is the number of outputs to export, Done that of those in data files.
	Units, Done atomic.Int64
}
