package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// file is one of an archive.
type file struct {
	path string
	mode int64
	data []byte
}

// archive packs files, below a directory of the archive's name, in order of their paths.
func archive(name string, at time.Time, files []file) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: name + "/" + f.path, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is like archive, as zip.
func zipped(name string, at time.Time, files []file) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: name + "/" + f.path, Method: zip.Deflate, Modified: at}
		h.SetMode(fs.FileMode(f.mode))
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// bill is a software bill of materials.
// https://cyclonedx.org/docs/1.5/json/
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	URL        string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// materials is the bill of materials of a program, from its own build information.
func materials(program, version string, at time.Time, info *debug.BuildInfo) ([]byte, error) {
	b := bill{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: metadata{at.Format(time.RFC3339), component{Type: "application", Ref: program, Name: program, Version: version}},
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || strings.HasPrefix(s.Key, "vcs.") {
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, component{
		Type:    "library",
		Ref:     "std",
		Name:    "std",
		Version: goVersion,
		URL:     "pkg:golang/std@" + goVersion,
	})
	for _, m := range info.Deps {
		sum := m.Sum
		if m.Replace != nil {
			m, sum = m.Replace, m.Replace.Sum
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		b.Components = append(b.Components, component{"library", url, m.Path, m.Version, url, []property{{"go:sum", sum}}})
	}
	content, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	// The same bill has the same number: a UUID of its content.
	sum := sha256.Sum256(content)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	id := hex.EncodeToString(sum[:16])
	b.Serial = "urn:uuid:" + id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}
