package local_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/local"
)

// helperEnv makes the test binary do a helper's work in place of the tests.
const helperEnv = "LOGSTOW_LOCAL_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		if err := help(mode, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, hint.Text(err))
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// help does what a helper process does with the store in dir.
func help(mode, dir, arg string) error {
	ctx := context.Background()
	s, err := local.Open(ctx, dir, local.Adopt(adoptSelf))
	if err != nil {
		return err
	}
	defer s.Close()
	switch mode {
	case "churn":
		return churn(ctx, s, arg)
	case "race":
		return race(ctx, s, arg)
	case "list":
		return printList(ctx, s)
	case "rows":
		return printRows(ctx, s, arg)
	case "follow":
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			if err := printList(ctx, s); err != nil {
				return err
			}
			fmt.Println()
		}
		return in.Err()
	case "create":
		_, err := s.Blobs().Create(ctx, arg, selfBody(arg), store.CreateOptions{Metadata: selfMetadata(arg)})
		return err
	default:
		return helpOnSystem(ctx, mode, dir, arg)
	}
}

// printList prints the name, size and number of metadata keys of each blob.
func printList(ctx context.Context, s *local.Store) error {
	for page, err := range s.Blobs().List(ctx, "") {
		if err != nil {
			return err
		}
		for _, blob := range page {
			fmt.Println(blob.Name, blob.Size, len(blob.Metadata))
		}
	}
	return nil
}

// printRows prints the row keys of a table.
func printRows(ctx context.Context, s *local.Store, table string) error {
	for page, err := range s.Tables().Query(ctx, table, store.Query{PartitionTo: "~"}) {
		if err != nil {
			return err
		}
		for _, e := range page {
			fmt.Println(e.Row)
		}
	}
	return nil
}

// churn creates, indexes and deletes blobs without end and prints what it did
// each time that it is done.
func churn(ctx context.Context, s *local.Store, prefix string) error {
	if err := s.Tables().CreateTable(ctx, "churn"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s/%d/%06d.log", prefix, i/7, i)
		fmt.Println("creating", name)
		if _, err := s.Blobs().Create(ctx, name, selfBody(name), store.CreateOptions{Metadata: selfMetadata(name)}); err != nil {
			return err
		}
		fmt.Println("created", name)
		entity := store.Entity{Key: store.Key{Partition: "p", Row: strings.ReplaceAll(name, "/", "_")}}
		if err := s.Tables().Upsert(ctx, "churn", []store.Entity{entity}); err != nil {
			return err
		}
		fmt.Println("indexed", name)
		if i%3 == 2 {
			fmt.Println("deleting", name)
			if err := s.Blobs().Delete(ctx, store.AnyVersion(name)); err != nil {
				return err
			}
			fmt.Println("deleted", name)
		}
	}
}

// race creates names that others create too and prints which it won.
func race(ctx context.Context, s *local.Store, racer string) error {
	for i := range 40 {
		name := fmt.Sprintf("race/%d/%02d", i/5, i)
		_, err := s.Blobs().Create(ctx, name, []byte(racer), store.CreateOptions{Metadata: map[string]string{"Racer": racer}})
		if errors.Is(err, store.ErrExists) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// selfBody is a body that contains its name; its length depends on the name.
func selfBody(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	body := make([]byte, 100+binary.BigEndian.Uint32(sum[:])%200_000)
	source := rand.NewChaCha8(sum)
	_, _ = source.Read(body) // It never fails.
	copy(body, fmt.Sprintf("%-80s", name))
	return body
}

func selfMetadata(name string) map[string]string {
	return map[string]string{"Self": name, "Size": fmt.Sprint(len(selfBody(name)))}
}

// adoptSelf finds the metadata of such bodies.
func adoptSelf(ctx context.Context, name string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error) {
	if size < 80 {
		return nil, nil
	}
	head, err := read(ctx, 0, 80)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(head)) != name {
		return nil, nil
	}
	return selfMetadata(name), nil
}

// helper is a command that runs help in a process of its own.
func helper(t testing.TB, mode, dir, arg string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, dir, arg)
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	cmd.Stderr = testWriter{t}
	return cmd
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("helper: %s", p)
	return len(p), nil
}

// runUntil reads a helper's lines until it ends, killing it some time after its
// first line.
func runUntil(t testing.TB, cmd *exec.Cmd, kill time.Duration) []string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // A last line without its end does not count.
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) == 0 && kill > 0 {
			time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	err = cmd.Wait()
	if killed := err != nil && cmd.ProcessState.ExitCode() == -1; kill > 0 != killed {
		t.Errorf("helper ended with %v", err)
	}
	return lines
}

// write puts a file under a blob's name as if another program had done so.
func write(t testing.TB, dir, name string, body []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o666); err != nil {
		t.Fatal(err)
	}
}

// list is what a store lists, by name.
func list(t testing.TB, s *local.Store) map[string]store.Blob {
	t.Helper()
	all := map[string]store.Blob{}
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, blob := range page {
			if _, twice := all[blob.Name]; twice {
				t.Errorf("%s is listed twice", blob.Name)
			}
			all[blob.Name] = blob
		}
	}
	return all
}
