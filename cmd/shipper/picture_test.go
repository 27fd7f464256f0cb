package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"logstow/internal/cli"
	"logstow/internal/test/clitest"
)

var update = flag.Bool("update", false, "write testdata/terminal anew") //nolint:gochecknoglobals // a test flag

// pictures are the command lines of which testdata/terminal has what they print on terminals of 80 and 140 columns: a name, "wide" if lines
// may be wider than the terminal, such as sentences, and the line.
// Each finds the store and the buffers as those before left them.
const pictures = `
help  --help
help-run  run --help
help-quarantine  quarantine --help
status-none  status --buffer-dir buffer
check  check --service web --instance vm-1 --buffer-dir buffer --store store web.log
check-missing wide  check --service web --instance vm-1 --buffer-dir buffer --store store web.log missing.log
check-mistakes  check --service 'no name' --buffer-dir buffer --store store --bucket 7m web.log
run  run --once --service web --instance vm-1 --buffer-dir buffer --store store web.log
run-incomplete  run --once --service shop --instance vm-1 --buffer-dir second --store store shop.log missing.log
status  status --buffer-dir buffer
quarantine-none  quarantine list --buffer-dir buffer
verify  verify --store store
verify-none  verify --store store --service nobody
retain wide  retain --store store --keep 30d --dry-run
mistake-command  sendlogs web.log
mistake-flag  run --servce web web.log
no-store  verify --store nowhere
`

// terminal is a stream to a terminal.
type terminal struct {
	bytes.Buffer
	columns int
}

// Screen is the terminal's size.
func (t *terminal) Screen() (rows, columns int) { return 50, t.columns }

// varying are texts that differ from run to run: its duration, and the size of the log, which has inode numbers, in both forms of a status.
// Its column is as wide as its size is long.
var varying = regexp.MustCompile(`(, in |LOG +|vm-1 +- +)[0-9.]+ ?(ms|µs|s|B|kB)\b *|(LOG ) +\b`)

// shown is what a program printed, without what differs from run to run.
func shown(dir, text string) string {
	return strings.ReplaceAll(varying.ReplaceAllString(text, "$1$3…"), dir, "/logs")
}

// What people see on a terminal. make golden writes the files anew.
func TestPictures(t *testing.T) { //nolint:paralleltest // it changes the directory
	files, err := filepath.Abs("testdata/terminal")
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{80, 140} {
		dir := t.TempDir()
		t.Chdir(dir)
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		t.Setenv("LOGSTOW_STORE", "")
		for name, text := range map[string]string{
			"web.log":  "2026-11-20T15:00:00Z ERROR one\n2026-11-20T15:01:00Z INFO two\n",
			"shop.log": "2026-11-20T15:00:00Z INFO order 1001 confirmed\n",
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil { //nolint:forbidigo // a test's own file
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(strings.TrimSpace(pictures)) {
			what, args, _ := strings.Cut(strings.TrimSpace(line), "  ")
			name, wide, _ := strings.Cut(what, " ")
			stdout, stderr := &terminal{columns: columns}, &terminal{columns: columns}
			p := program()
			p.Writer, p.ErrWriter = stdout, stderr
			status := cli.Run(t.Context(), *p, append([]string{"shipper"}, clitest.Words(args)...))
			clitest.Picture{
				Name: name, Line: "shipper " + args, Columns: columns, Wide: wide != "", Status: status,
				Stdout: shown(dir, stdout.String()), Stderr: shown(dir, stderr.String()),
			}.Check(t, files, *update)
		}
	}
}
