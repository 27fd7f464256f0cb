//go:build unix

package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"logstow/buffer"
	"logstow/buffer/wal"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// earlierStore is one that cannot be written: there is a file in its way.
const earlierStore = "blocked/store"

// earlierConfig is the configuration of the shipper whose buffers are kept in testdata/buffer.
const earlierConfig = `store: ` + earlierStore + `
service: web
instance: vm-1
flush-interval: 1h
inputs:
  - files: [app.log]
  - files: [queue.log]
    service: queue
    class: audit
`

// TestEarlierBuffer opens each buffer in testdata/buffer that a shipper left when it was
// killed: with sealed batches, records in the log and positions of two files. Every record
// is delivered once, and the files are read on from their positions. With -update a buffer
// of the log's present version is added, if there is none.
func TestEarlierBuffer(t *testing.T) {
	effort.Need(t, effort.Test, "takes long")
	t.Parallel()
	if *update {
		file := filepath.Join("..", "testdata", "buffer", fmt.Sprintf("v%d", wal.Version), "directory.txt")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			writeEarlier(t, file)
		}
	}
	files, err := filepath.Glob("../testdata/buffer/v*/directory.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("buffers %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			onStores(t, func(t *testing.T, s target) {
				t.Run("drain", func(t *testing.T) {
					dir, inputs := readEarlier(t, file)
					checkEarlier(t, s, dir)
					r := s.command(t, nil, "shipper", "run", "--once", "--service", "web", "--instance", "vm-1", "--buffer-dir", dir, "-")
					if r.status != 0 {
						t.Fatalf("status %d\n%s", r.status, r.errs)
					}
					for service, text := range inputs {
						whole := text[:bytes.LastIndexByte(text, '\n')+1]
						same(t, service, string(whole), s.all(t, service))
					}
				})
			})
			onStores(t, func(t *testing.T, s target) {
				t.Run("go on", func(t *testing.T) { goOn(t, s, file) })
			})
		})
	}
}

// goOn runs a shipper with the configuration and the files that the earlier one had; since
// then they have grown.
func goOn(t *testing.T, s target, file string) {
	dir, inputs := readEarlier(t, file)
	root := filepath.Dir(dir)
	more := map[string]string{
		"web":   " line\n2024-03-05T19:00:00Z INFO web, later\n",
		"queue": "2024-03-05T19:00:00Z WARN queue, later\n",
	}
	names := map[string]string{"web": "app.log", "queue": "queue.log"}
	for service, name := range names {
		if err := os.WriteFile(filepath.Join(root, name), append(inputs[service], more[service]...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	moveEarlier(t, dir, root)
	config := strings.Replace(earlierConfig, earlierStore, s.store, 1)
	if err := os.WriteFile(filepath.Join(root, "shipper.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startEarlier(t, root, s.env, "--once")
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("status %d\n%s", p.status(), p.tail())
	}
	if n := p.count("resuming at the position of an earlier run"); n != len(names) {
		t.Errorf("%d files are resumed, want %d:\n%s", n, len(names), p.tail())
	}
	for service := range names {
		same(t, service, string(inputs[service])+more[service], s.all(t, service))
	}
}

// readEarlier makes the buffer of a file in a new directory, and returns what its inputs
// held by service.
func readEarlier(t *testing.T, file string) (dir string, inputs map[string][]byte) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "buffer")
	inputs = map[string][]byte{}
	for _, f := range archive.Files {
		folder, name := path.Split(f.Name)
		data := fromHex(t, f)
		if folder == "inputs/" {
			inputs[name] = data
			continue
		}
		writeFile(t, filepath.Join(dir, strings.TrimPrefix(f.Name, "buffer/")), data)
	}
	return dir, inputs
}

// checkEarlier compares what shipper status reports of a buffer with what it is to hold.
func checkEarlier(t *testing.T, s target, dir string) {
	t.Helper()
	var status struct {
		Instance                       string
		Services                       []string
		Sealed, Positions, Quarantined int
	}
	text := s.must(t, "shipper", "status", "--buffer-dir", dir, "-o", "json")
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	if status.Instance != "vm-1" || len(status.Services) != 2 || status.Sealed != 3 || status.Positions < 2 || status.Quarantined != 0 {
		t.Errorf("status %s", text)
	}
}

// moveEarlier gives the positions in a buffer the device, the number and the path of the
// files in a directory, which stand for those that the earlier shipper read.
func moveEarlier(t *testing.T, dir, root string) {
	t.Helper()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "vm-1"})
	if err != nil {
		t.Fatal(err)
	}
	var moved []buffer.Position
	for _, p := range b.Positions("file") {
		name, err := moveFile(p, root)
		if err != nil {
			t.Fatal(err)
		}
		if name.Input != "" {
			moved = append(moved, buffer.Position{Input: p.Input}, name)
		}
	}
	if len(moved) != 4 {
		t.Fatalf("%d positions, want 2 of files", len(moved)/2)
	}
	if _, err := b.Append(t.Context(), buffer.Chunk{Service: "web", Positions: moved}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// moveFile is the position of one file; that of a pattern is nothing.
func moveFile(p buffer.Position, root string) (moved buffer.Position, err error) {
	prefix := strings.TrimRight(p.Input, "0123456789abcdef")
	prefix = strings.TrimRight(strings.TrimSuffix(prefix, ":"), "0123456789abcdef")
	if !strings.HasPrefix(p.Input, "file@") && !strings.HasPrefix(p.Input, "file:") {
		return buffer.Position{}, nil
	}
	const version = 1 // then kind, device, inode; offset, fingerprint (2), two times; path
	rest := p.Value
	if rest[0] != version {
		return moved, fmt.Errorf("position of version %d", rest[0])
	}
	rest = rest[1:]
	number := func() (v uint64) {
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return v
	}
	kind := number()
	number()
	number()
	var middle []byte
	for range 5 {
		middle = binary.AppendUvarint(middle, number())
	}
	size := number()
	file := filepath.Join(root, filepath.Base(string(rest[:size])))
	rest = rest[size:]
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil {
		return moved, err
	}
	device := uint64(st.Dev) //nolint:unconvert // the type of Dev differs between systems
	moved.Input = fmt.Sprintf("%s%x:%x", prefix, device, st.Ino)
	value := binary.AppendUvarint([]byte{version}, kind)
	value = binary.AppendUvarint(binary.AppendUvarint(value, device), st.Ino)
	value = binary.AppendUvarint(append(value, middle...), uint64(len(file)))
	moved.Value = append(append(value, file...), rest...)
	return moved, nil
}

// startEarlier runs a shipper on the configuration and the buffer in a directory.
func startEarlier(t *testing.T, root string, env []string, args ...string) *process {
	t.Helper()
	command := []string{"-c", `cd "$0" && exec "$@"`, root, programPath("shipper"), "run", "--config", "shipper.yaml", "--buffer-dir", "buffer"}
	return startProcess(t, "/bin/sh", nil, append(cleanEnv(t), env...), append(command, args...)...)
}

// writeEarlier writes the buffer of a shipper of today to a file.
func writeEarlier(t *testing.T, file string) {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(root, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("blocked", "no directory")
	write("shipper.yaml", earlierConfig)
	write("app.log", "2024-03-05T15:00:00Z INFO web, first\n2024-03-05T15:00:01Z ERROR web, second\n\tat its second line\n2024-03-05T16:00:00Z INFO web, third\n")
	write("queue.log", "2024-03-05T15:00:00Z DEBUG queue, first\n")
	// The first run seals what it reads; the second one is killed with records in the log.
	first := startEarlier(t, root, nil, "--once", "--retry-for", "1s")
	first.end(t, patience)
	const last = "2024-03-05T18:00:00Z INFO queue, last"
	write("app.log", "2024-03-05T17:00:00Z INFO web, fourth\n2024-03-05T17:00:01Z INFO web, half a")
	write("queue.log", "2024-03-05T17:00:00Z INFO queue, second\n"+last+"\n")
	second := startEarlier(t, root, nil, "--from-start")
	log := filepath.Join(root, "buffer", "wal")
	await.Until(t, patience, "records in the log", func() bool {
		var all []byte
		names, err := filepath.Glob(filepath.Join(log, "*.log"))
		for _, name := range names {
			data, readErr := os.ReadFile(name)
			all, err = append(all, data...), errors.Join(err, readErr)
		}
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(all, []byte(last)) && bytes.Contains(all, []byte("web, fourth"))
	})
	second.kill(t)
	archive := &txtar.Archive{Comment: []byte("The buffer of a shipper that was killed, and what its inputs held then, in hexadecimal.\nWritten by TestEarlierBuffer in e2e; see there. Never rewritten.\n\n")}
	add := func(name, file string) { archive.Files = append(archive.Files, hexFile(t, name, file)) }
	add("inputs/web", filepath.Join(root, "app.log"))
	add("inputs/queue", filepath.Join(root, "queue.log"))
	err := filepath.WalkDir(filepath.Join(root, "buffer"), func(file string, entry fs.DirEntry, err error) error {
		// The reserve holds no data. A state names a store, by an absolute path. The socket of tap is no file.
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "reserve" || filepath.Ext(file) == ".state" {
			return err
		}
		name, err := filepath.Rel(root, file)
		add(filepath.ToSlash(name), file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, txtar.Format(archive))
}
