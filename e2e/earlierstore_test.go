package e2e

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"logstow/internal/test/effort"
)

// earlierLogs are the lines of the store that is kept in testdata/store: what is compacted, and what came later.
var earlierLogs = []struct{ service, class, text string }{
	{"web", "", "2024-03-05T15:00:00Z INFO web, first user=ann status=200\n2024-03-05T15:00:01Z ERROR web, second\n\tat its second line\n"},
	{"web", "", "2024-03-05T15:10:00Z WARN web, third user=bob status=404\n"},
	{"queue", "audit", "{\"time\":\"2024-03-05T16:00:00Z\",\"level\":\"debug\",\"msg\":\"tab\\there\",\"took_ms\":12.5}\n2024-03-05T16:00:01Z INFO \xff\xfe not UTF-8\n"},
	{"web", "", "2024-03-05T15:20:00Z INFO web, later user=ann status=200\n"},
}

// earlierQueries are what is asked of it. Their answers are kept with it.
var earlierQueries = [][]string{
	{"logq", "query", "-o", "json"},
	{"logq", "query", "-o", "json", "--plan", "index"},
	{"logq", "stats", "--by", "status,user", "-o", "csv"},
	{"logq", "segments", "-o", "json"},
	{"logq", "ql", "sum by (service_name, level) (count_over_time({service_name=~\".+\"}[24h]))"},
}

// TestEarlierStore reads each store in testdata/store, a directory with segments, outputs of compaction and an index: the answers are those of
// the version that wrote it, also after compaction by the present one. With -update the store of 0.1 is added, if there is none.
func TestEarlierStore(t *testing.T) {
	effort.Need(t, effort.Test, "runs programs")
	t.Parallel()
	if file := filepath.Join("..", "testdata", "store", "0.1.txt"); *update {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			writeEarlierStore(t, file)
		}
	}
	files, err := filepath.Glob("../testdata/store/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("stores %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			s := target{store: "store", cwd: root}
			answers := map[string]string{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "store/") {
					writeFile(t, filepath.Join(root, f.Name), fromHex(t, f))
				} else {
					answers[f.Name] = string(f.Data)
				}
			}
			checkEarlierStore(t, s, answers)
			s.must(t, "shipper", "verify", "--full")
			delete(answers, "logq segments -o json")
			s.must(t, "shipper", "compact", "--max-age", "36500d", "--grace", "0s")
			checkEarlierStore(t, s, answers)
			s.must(t, "shipper", "reindex")
			s.must(t, "shipper", "verify", "--full")
			checkEarlierStore(t, s, answers)
		})
	}
}

// earlierRange is the range of all queries.
var earlierRange = []string{"--from", "2024-03-05", "--to", "2024-03-06", "--utc"}

func checkEarlierStore(t *testing.T, s target, answers map[string]string) {
	t.Helper()
	for _, q := range earlierQueries {
		want, known := answers[strings.Join(q, " ")]
		if got := string(s.earlierAnswer(t, q)); known && got != want {
			t.Errorf("%s (-want +got):\n%s", q, cmp.Diff(want, got))
		}
	}
}

// earlierAnswer is what a command prints, with the store's path as on the command line.
func (s target) earlierAnswer(t *testing.T, q []string) []byte {
	t.Helper()
	return bytes.ReplaceAll(s.must(t, slices.Concat(q, earlierRange)...), []byte(s.cwd+"/"), nil)
}

// writeEarlierStore writes a store of today to a file, and what is found in it.
func writeEarlierStore(t *testing.T, file string) {
	t.Helper()
	root := t.TempDir()
	s := target{store: "store", cwd: root}
	for i, logs := range earlierLogs {
		name := filepath.Join(root, fmt.Sprintf("%d.log", i))
		writeFile(t, name, []byte(logs.text))
		args := []string{"shipper", "run", "--once", "--service", logs.service, "--instance", fmt.Sprintf("vm-%d", i%2), "--buffer", "memory", "--from-start", name}
		if logs.class != "" {
			args = append(args, "--class", logs.class)
		}
		if i == len(earlierLogs)-1 { // the last one stays as it is
			s.must(t, "shipper", "compact", "--max-age", "36500d", "--grace", "0s", "--columns", "took_ms")
		}
		s.must(t, args...)
	}
	archive := &txtar.Archive{Comment: []byte("A store in hexadecimal, and the answers to queries of it. Written by TestEarlierStore in e2e; see there. Never rewritten.\n\n")}
	for _, q := range earlierQueries {
		archive.Files = append(archive.Files, txtar.File{Name: strings.Join(q, " "), Data: s.earlierAnswer(t, q)})
	}
	err := filepath.WalkDir(filepath.Join(root, "store"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "create.lock" {
			return err
		}
		name, err := filepath.Rel(root, file)
		archive.Files = append(archive.Files, hexFile(t, filepath.ToSlash(name), file))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, txtar.Format(archive))
}

// hexFile is a file in hexadecimal.
func hexFile(t *testing.T, name, file string) txtar.File {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for line := range slices.Chunk(data, 48) {
		fmt.Fprintf(&text, "%x\n", line)
	}
	return txtar.File{Name: name, Data: text.Bytes()}
}

// fromHex is what hexFile was given.
func fromHex(t *testing.T, f txtar.File) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return data
}

func writeFile(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
