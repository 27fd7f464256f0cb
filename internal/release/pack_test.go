package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)

func TestArchive(t *testing.T) {
	t.Parallel()
	files := []file{{"b/c", 0o644, []byte("two")}, {"a", 0o755, []byte("one")}}
	data, err := archive("x-1", at, files)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := archive("x-1", at, []file{files[1], files[0]}); err != nil || !bytes.Equal(data, again) {
		t.Error("the same files give another archive", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Name, Text string
		Mode       int64
		Time       int64
	}
	var got []entry
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		text, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		got = append(got, entry{h.Name, string(text), h.Mode, h.ModTime.Unix()})
	}
	want := []entry{{"x-1/a", "one", 0o755, at.Unix()}, {"x-1/b/c", "two", 0o644, at.Unix()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestZip(t *testing.T) {
	t.Parallel()
	data, err := zipped("x-1", at, []file{{"b/c", 0o644, []byte("two")}, {"a.exe", 0o755, []byte("one")}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.File {
		got = append(got, f.Name+" "+f.Modified.UTC().Format(time.DateTime))
	}
	if diff := cmp.Diff([]string{"x-1/a.exe 2026-11-20 15:00:00", "x-1/b/c 2026-11-20 15:00:00"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMaterials(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:a="},
			{Path: "example.com/b", Version: "v1", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0", Sum: "h1:c="}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "no"}},
	}
	text, err := materials("logq", "v1", at, info)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := materials("logq", "v1", at, info); err != nil || !bytes.Equal(text, again) {
		t.Error("the same program gives another bill", err)
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got.Serial) {
		t.Error(got.Serial)
	}
	want := []component{
		{Type: "library", Ref: "std", Name: "std", Version: "1.26.8", URL: "pkg:golang/std@1.26.8"},
		{"library", "pkg:golang/example.com/a@v1.2.3", "example.com/a", "v1.2.3", "pkg:golang/example.com/a@v1.2.3", []property{{"go:sum", "h1:a="}}},
		{"library", "pkg:golang/example.com/c@v2.0.0", "example.com/c", "v2.0.0", "pkg:golang/example.com/c@v2.0.0", []property{{"go:sum", "h1:c="}}},
	}
	if diff := cmp.Diff(want, got.Components); diff != "" {
		t.Error(diff)
	}
	if p := got.Metadata.Component.Properties; len(p) != 1 || p[0].Value != "linux" {
		t.Errorf("%+v", p)
	}
}
