package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"logstow/internal/test/effort"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the transcripts and the entities, and add a buffer of the present version")

// directoryName is the local store's name in a transcript's working directory: a word
// that appears nowhere else, so that it can be replaced.
const directoryName = "logs.dir"

// onAzurite separates what is printed on Azurite from what is printed on a directory,
// where the two differ.
const onAzurite = "on Azurite:\n"

// block is one paragraph of a transcript: a comment, a step of the set-up ("% " and a
// shell command that prints nothing), or a command line ("$ ") with its output.
type block struct {
	text string            // a comment
	step string            // a shell command
	line string            // a command line
	want map[string]string // by the kind of store

	mu  sync.Mutex
	got map[string]string // as want; the stores are used concurrently
}

// ran notes what the command line printed on a kind of store.
func (b *block) ran(kind, got string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got[kind] = got
}

// transcript is one file of testdata/transcripts.
type transcript struct {
	path   string
	on     []string // kinds of store
	blocks []*block
	files  []txtar.File
}

func readTranscript(t *testing.T, path string) *transcript {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	tr := &transcript{path: path, on: []string{"directory", "Azurite"}, files: archive.Files}
	for _, paragraph := range strings.Split(strings.TrimSpace(string(archive.Comment)), "\n\n") {
		b := &block{got: map[string]string{}}
		tr.blocks = append(tr.blocks, b)
		first, rest, _ := strings.Cut(paragraph+"\n", "\n")
		kind, command, _ := strings.Cut(first, " ")
		switch kind {
		case "$":
			b.line = command
			same, other, differs := strings.Cut(rest, onAzurite)
			if !differs {
				other = same
			}
			b.want = map[string]string{"directory": same, "Azurite": other}
		case "%":
			b.step = command
		default:
			b.text = paragraph
			if strings.Contains(paragraph, "On a directory only.") {
				tr.on = []string{"directory"}
			}
			if strings.Contains(paragraph, "On Azurite only.") {
				tr.on = []string{"Azurite"}
			}
		}
	}
	return tr
}

// write rewrites the file with what was printed.
func (tr *transcript) write(t *testing.T) {
	t.Helper()
	var out strings.Builder
	for _, b := range tr.blocks {
		switch {
		case b.text != "":
			out.WriteString(b.text + "\n")
		case b.step != "":
			out.WriteString("% " + b.step + "\n")
		default:
			for _, kind := range tr.on {
				if b.got[kind] == "" {
					t.Fatalf("%s: $ %s was not run on %s: -update needs all stores", tr.path, b.line, kind)
				}
			}
			out.WriteString("$ " + b.line + "\n" + b.got[tr.on[0]])
			if len(tr.on) > 1 && b.got[tr.on[1]] != b.got[tr.on[0]] {
				out.WriteString(onAzurite + b.got[tr.on[1]])
			}
		}
		out.WriteString("\n")
	}
	text := txtar.Format(&txtar.Archive{Comment: []byte(out.String()), Files: tr.files})
	if err := os.WriteFile(tr.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// minimumLines is how many command lines the transcripts have together.
const minimumLines = 300

// TestTranscripts runs the command lines of testdata/transcripts and compares what
// they print with what is written there. After a wanted change:
//
//	LOGSTOW_REQUIRE_AZURITE=1 go test ./e2e -run TestTranscripts -update
func TestTranscripts(t *testing.T) {
	effort.Need(t, effort.Test, "takes long")
	t.Parallel()
	paths, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, sample := 0, effort.NewSample(t, 8)
	for _, path := range paths {
		tr := readTranscript(t, path)
		for _, b := range tr.blocks {
			if b.line != "" {
				lines++
			}
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		chosen := sample.Has() || *update // on the other store too
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *update {
				// Cleanups run after the parallel subtests.
				t.Cleanup(func() { tr.write(t) })
			}
			for _, kind := range tr.on {
				if kind == "Azurite" && len(tr.on) > 1 && !chosen {
					continue
				}
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					newSession(t, kind, tr.files).run(t, tr)
				})
			}
		})
	}
	if lines < minimumLines {
		t.Errorf("%d command lines, want at least %d", lines, minimumLines)
	}
}

// session is a working directory and a store in which a transcript is run.
type session struct {
	kind string
	dir  string
	env  []string
	// replace lists texts that differ from run to run, each with what is written instead.
	replace []string
}

func newSession(t *testing.T, kind string, files []txtar.File) *session {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &session{kind: kind, dir: dir}
	if err := os.CopyFS(dir, os.DirFS("testdata/transcripts/inputs")); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(cleanEnv(t), "HOME="+dir+"/home", "XDG_STATE_HOME="+dir+"/state")
	store := directoryName
	if kind == "Azurite" {
		on := azuriteTarget(t)
		store = on.store
		s.env = append(s.env, on.env...)
		for field := range strings.SplitSeq(on.env[0], ";") {
			if _, address, found := strings.Cut(field, "Endpoint=http://"); found {
				host, _, _ := strings.Cut(address, "/")
				s.replace = append(s.replace, host, "$AZURITE")
			}
		}
		s.replace = append(s.replace, store, "$STORE", strings.TrimPrefix(store, "azblob://"), "$CONTAINER")
	} else {
		s.replace = append(s.replace, filepath.Join(dir, directoryName), "$STORE", directoryName, "$STORE")
	}
	s.replace = append(s.replace, dir, "$WORK")
	s.env = append(s.env, "LOGSTOW_STORE="+store, "STORE="+store)
	return s
}

func (s *session) run(t *testing.T, tr *transcript) {
	for _, b := range tr.blocks {
		switch {
		case b.step != "":
			cmd := exec.CommandContext(t.Context(), "sh", "-c", b.step)
			cmd.Dir, cmd.Env = s.dir, s.env
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("%% %s: %v\n%s", b.step, err, out)
			}
		case b.line != "":
			got := s.command(t, b.line)
			b.ran(s.kind, got)
			if diff := cmp.Diff(strings.Split(b.want[s.kind], "\n"), strings.Split(got, "\n")); diff != "" && !*update {
				t.Errorf("$ %s (-want +got)\n%s", b.line, diff)
			}
		}
	}
}

// command runs a command line: words in single quotes or without blanks, of which the
// first may set variables (NAME=value) and the last may redirect standard input (<FILE).
// $STORE is the store.
func (s *session) command(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := splitWords(line)
	env := slices.Clone(s.env)
	for strings.Contains(args[0], "=") {
		env, args = append(env, args[0]), args[1:]
	}
	var in []byte
	if file, found := strings.CutPrefix(args[len(args)-1], "<"); found {
		args = args[:len(args)-1]
		var err error
		if in, err = os.ReadFile(filepath.Join(s.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if args[0] != "shipper" && args[0] != "logq" {
		t.Fatalf("$ %s: want shipper or logq", line)
	}
	store := s.env[len(s.env)-1]
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$STORE", strings.TrimPrefix(store, "STORE="))
	}
	cmd := exec.CommandContext(ctx, programPath(args[0]), args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, env, bytes.NewReader(in), &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("$ %s: %v", line, err)
	}
	return s.show("> ", stdout.Bytes()) + s.show("! ", stderr.Bytes()) + fmt.Sprintf("status %d\n", cmd.ProcessState.ExitCode())
}

// splitWords splits a command line at blanks outside of single quotes.
func splitWords(line string) (all []string) {
	word, quoted, inside := "", false, false
	for _, c := range line + " " {
		switch {
		case c == '\'':
			quoted, inside = !quoted, true
		case c == ' ' && !quoted:
			if inside || word != "" {
				all = append(all, word)
			}
			word, inside = "", false
		default:
			word += string(c)
		}
	}
	return all
}

// show is what a program printed, a line each behind a prefix: replaced is what differs
// from run to run, and bytes that a text file cannot show.
func (s *session) show(prefix string, out []byte) string {
	var text strings.Builder
	for line := range strings.Lines(visible(out)) {
		text.WriteString(prefix + line)
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		text.WriteString("\n" + prefix + "(no newline)\n")
	}
	return replaceVarying(strings.NewReplacer(s.replace...).Replace(text.String()))
}

// visible writes control characters as their Unicode pictures and bytes that are not
// UTF-8 in hexadecimal.
func visible(out []byte) string {
	var text strings.Builder
	for len(out) > 0 {
		r, n := utf8.DecodeRune(out)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&text, `\x%02x`, out[0])
		case r < ' ' && r != '\n' && r != '\t':
			text.WriteRune(0x2400 + r)
		default:
			text.WriteRune(r)
		}
		out = out[n:]
	}
	return text.String()
}

// varying are the texts that differ from run to run, with what is written instead.
var varying = []struct {
	find    *regexp.Regexp
	replace string
}{
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "$$ID"},                                                      // a batch
	{regexp.MustCompile(`\b[0-9a-f]{16}\.seg\b`), "$$FILE.seg"},                                           // a file of the buffer
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "$$REQUEST"}, // a request
	{regexp.MustCompile(`\bsegments[0-9a-f]{8}[0-9a-z]*2[0-9]{7}\b`), "$$TABLE"},                          // its container and day
	{regexp.MustCompile(`"seconds":[0-9.e-]+`), `"seconds":$$N`},                                          // a duration
	{regexp.MustCompile(`\b([0-9]s {3}|[0-9]{2}s {2}|[0-9]m[0-9]s |[0-9]m[0-9]{2}s) {3}`), "$$N      "},   // an age in a table
	{regexp.MustCompile(`"log_bytes":[0-9]+`), `"log_bytes":$$N`},                                         // holds inode numbers
	{regexp.MustCompile(`\((commit [^,)]*, )?go1[^)]*\)`), "($$GO)"},                                      // compiler and platform, commit
}

var (
	clockTime = regexp.MustCompile(`\b2[0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?`)
	unixTime  = regexp.MustCompile(`\b[1-9][0-9]{18}\b`)
)

// isNow reports whether a time is one of this run: from an hour ago to the end of the
// longest grant. The times of the inputs are years ago.
func isNow(at time.Time) bool {
	ahead := time.Until(at)
	return ahead > -time.Hour && ahead < 8*24*time.Hour
}

// exampleTime is in the help, and would be taken for that of a run around it.
const exampleTime = "2026-11-20T15:04"

// replaceVarying replaces what differs from run to run, times of this run by $NOW.
func replaceVarying(text string) string {
	for _, v := range varying {
		text = v.find.ReplaceAllString(text, v.replace)
	}
	text = clockTime.ReplaceAllStringFunc(text, func(found string) string {
		minute := strings.Replace(found[:len(exampleTime)], " ", "T", 1)
		if at, err := time.Parse("2006-01-02T15:04", minute); err != nil || !isNow(at) || minute == exampleTime {
			return found
		}
		return "$NOW"
	})
	return unixTime.ReplaceAllStringFunc(text, func(found string) string {
		if nanos, err := strconv.ParseInt(found, 10, 64); err != nil || !isNow(time.Unix(0, nanos)) {
			return found
		}
		return "$NOW"
	})
}
