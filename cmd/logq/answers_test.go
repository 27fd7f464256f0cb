package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
)

// answersNow is the time at which the queries run.
func answersNow() time.Time { return time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC) }

// put stores one segment of a service: lines of a clock time, a level, a source and a message, before which
// attributes and a TAB may stand.
func put(t *testing.T, dir, service string, date time.Time, lines ...string) string {
	t.Helper()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var body bytes.Buffer
	var w *segment.Writer
	var name blobnaming.Name
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		clock, err := time.Parse("15:04:05", f[0])
		if err != nil {
			t.Fatal(err)
		}
		at := date.Truncate(24 * time.Hour).Add(clock.Sub(clock.Truncate(24 * time.Hour)))
		level, err := record.ParseLevel(f[1])
		if err != nil {
			t.Fatal(err)
		}
		if w == nil {
			name = blobnaming.Name{Service: service, Bucket: at.Truncate(time.Hour), Number: 1}
			salt := [16]byte{}
			copy(salt[:], service+line)
			w = segment.NewWriter(&body, segment.Options{
				Service: service, Instance: "pod-1", Salt: salt, BucketStart: name.Bucket.Unix(), BucketWidth: 3600,
			})
		}
		r := record.Record{Time: at.UnixNano(), Level: level, Source: f[2], Message: []byte(f[3])}
		if attrs, message, ok := strings.Cut(f[3], "\t"); ok && attributes.Valid([]byte(attrs)) {
			r.Attributes, r.Message = []byte(attrs), []byte(message)
		}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blobs().Create(t.Context(), name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
		t.Fatal(err)
	}
	return name.String()
}

// answersStore makes the stores that are queried.
func answersStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	today := answersNow()
	put(t, filepath.Join(dir, "store"), "web", today,
		`15:04:05 INFO app.log {"status":200,"user":"ann","path":"/cart","code":"A1"}`,
		`15:04:06 ERROR app.log {"status":503,"user":"bob","path":"/pay","http":{"method":"POST"}}`,
		`15:04:07 WARN app.log retry of order-12345`,
		`15:20:08 INFO audit/db.log {"status":200,"user":"bob","path":"/pay"}`)
	put(t, filepath.Join(dir, "store"), "shop", today.AddDate(0, 0, -9), `14:00:00 INFO app.log sold`)
	put(t, filepath.Join(dir, "store"), "plain", today, `15:10:00 - - one line`, `15:11:00 - - another line`)
	put(t, filepath.Join(dir, "store"), "tokyo", today.AddDate(0, 0, 1), `00:20:00 INFO app.log from far ahead`)
	broken := put(t, filepath.Join(dir, "broken"), "web", today, `15:04:05 INFO app.log hello`)
	if err := os.Chmod(filepath.Join(dir, "broken", broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken", broken), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("no store"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "ids"), "queue", today, ids()...)
	return dir
}

// ids are so many records that their segment has a token filter which is used.
func ids() (lines []string) {
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf(`15:%02d:%02d INFO app.log {"status":"%d","order":"order-%08x","took":%d}`, i/60, i%60, 200+i%300, i*2654435761%(1<<32), i))
	}
	return lines
}

// ask runs a command line, of which @ stands for the directory of the stores.
func ask(t *testing.T, dir, line string) (status int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := cancelling{cancel: cancel, at: "yet\nhint"}
	args := []string{"logq"}
	for _, arg := range words(line) {
		args = append(args, strings.ReplaceAll(arg, "@", dir))
	}
	store := filepath.Join(dir, "store")
	env := environment{stdout: &out, stderr: &errs, now: answersNow, tempDir: t.TempDir(), getenv: func(name string) string {
		if name == "LOGSTOW_STORE" {
			return store
		}
		return ""
	}}
	status = run(ctx, args, env)
	return status, out.String(), strings.ReplaceAll(errs.text.String(), dir, "@")
}

// cancelling is a standard error that ends a query which follows: by what it prints.
type cancelling struct {
	text   bytes.Buffer
	cancel func()
	at     string
}

func (c *cancelling) Write(p []byte) (int, error) {
	n, err := c.text.Write(p)
	if strings.Contains(c.text.String(), c.at) {
		c.cancel()
	}
	return n, err
}

// words splits a line at blanks outside of single quotes. A backslash outside of them escapes a character.
func words(line string) (all []string) {
	word, quoted, some, escaped := "", false, false, false
	for _, c := range line + " " {
		switch {
		case c == '\\' && !quoted && !escaped:
			escaped = true
			continue
		case escaped:
			word += string(c)
		case c == '\'':
			quoted, some = !quoted, true
		case c == ' ' && !quoted:
			if some || word != "" {
				all = append(all, word)
			}
			word, some = "", false
		default:
			word += string(c)
		}
		escaped = false
	}
	return all
}

// answers are the ways to get an empty result or an error, each with what is printed: a line
// "$ ARGUMENTS", one "status N", and the lines of standard output, after "> ", and of standard error.
const answers = "testdata/answers.txt"

var update = flag.Bool("update", false, "write testdata/answers.txt anew") //nolint:gochecknoglobals // a test flag

// Whatever finds nothing or fails is explained: exactly as testdata/answers.txt has it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := answersStore(t)
	want, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	n := 0
	for _, block := range strings.Split(strings.TrimSpace(string(want)), "\n\n") {
		command, _, _ := strings.Cut(block, "\n")
		line, ok := strings.CutPrefix(command, "$ ")
		if !ok {
			fmt.Fprintf(&all, "%s\n\n", block) // a comment
			continue
		}
		n++
		status, stdout, stderr := ask(t, dir, line)
		got := fmt.Sprintf("$ %s\nstatus %d\n", line, status)
		for out := range strings.Lines(stdout) {
			got += "> " + out
		}
		if got += stderr; got != block+"\n" {
			t.Errorf("got\n%s\nwant\n%s", got, block)
		}
		if status == 0 || stderr == "" {
			t.Errorf("%s: neither empty nor an error", line)
		}
		fmt.Fprintf(&all, "%s\n", got)
	}
	if n < 60 {
		t.Errorf("%d ways only", n)
	}
	if *update {
		if err := os.WriteFile(answers, []byte(strings.TrimSpace(all.String())+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Records that are all ahead of now are found, and named as such.
func TestFutureIsNoted(t *testing.T) {
	t.Parallel()
	dir := answersStore(t)
	const note = "logq: all records of the range are in the future, the first at 2026-11-21T00:20:00Z: the clock or time zone of their source is wrong\n"
	for line, want := range map[string]string{
		"query -s tokyo --from 2026-11-20 --to 2026-11-22 --utc":         note,
		"query -s tokyo --from 2026-11-20 --to 2026-11-22 --utc --count": note,
		"stats -s tokyo --from 2026-11-20 --to 2026-11-22 --utc":         note,
		"query --from 2026-11-20 --to 2026-11-22 --utc":                  "", // others are not
		"query -s tokyo --from 2026-11-21 --to 2026-11-22 --utc":         "", // a range in the future
	} {
		if status, _, stderr := ask(t, dir, line); status != 0 || stderr != want {
			t.Errorf("%s: status %d, %q, want %q", line, status, stderr, want)
		}
	}
}

// A selected service that does not exist is noted, also if others have records.
func TestMissingServicesAreNoted(t *testing.T) {
	t.Parallel()
	dir := answersStore(t)
	for _, command := range []string{
		"query", "query --count", "query --distinct level", "query --tail 1", "stats", "fields", "patterns", "segments",
	} {
		for services, notes := range map[string][]string{
			"-s web -s wbe -s x*": {`logq: service "wbe" does not exist; nearest: web`, `logq: no service matches "x*"; available: `},
			"-s web -s tokyo":     {}, // exists, without records in the range
		} {
			status, _, stderr := ask(t, dir, command+" --since 20m "+services)
			if status != 0 || strings.Count(stderr, "service") != len(notes) {
				t.Errorf("%s %s: status %d, %q", command, services, status, stderr)
			}
			for _, note := range notes {
				if !strings.Contains(stderr, note) {
					t.Errorf("%s %s: %q, want %q", command, services, stderr, note)
				}
			}
		}
	}
	const unknown = "logq: service \"wbe\" does not exist; nearest: web\n"
	for query, note := range map[string]string{
		`{service_name=~"web|wbe"}`:                                                           unknown,
		`count_over_time({service_name=~"web|wbe"}[20m])`:                                     unknown,
		`count_over_time({service="web"}[20m])or(count_over_time({service_name="wbe"}[20m]))`: unknown,
		`{service_name=~"web|tokyo"}`:                                                         "",
		`{service_name=~"web|wb.*"}`:                                                          "",
	} {
		if status, _, stderr := ask(t, dir, "ql --since 20m "+query); status != 0 || stderr != note {
			t.Errorf("%s: status %d, %q, want %q", query, status, stderr, note)
		}
	}
}
