package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestPackageVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v0.1.0":                     "0.1.0",
		"v0.1.0-rc.1":                "0.1.0~rc.1",
		"v0.1.0-5-gabcdef0":          "0.1.0+5.gabcdef0",
		"v0.1.0-5-gabcdef0-dirty":    "0.1.0+5.gabcdef0.dirty",
		"v0.1.0-dirty":               "0.1.0+dirty",
		"v0.1.0-rc.1-5-gabcdef0":     "0.1.0~rc.1.5.gabcdef0",
		"abcdef0":                    "0~abcdef0",
		"dev":                        "0~dev",
		"v2-not a version_of \"it\"": "0~v2.not.a.version.of..it.",
	} {
		if got := packageVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// made are programs of two architectures, as inspect finds them.
func made() (all []built) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:a="}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}},
	}
	for _, arch := range []string{"amd64", "arm64"} {
		all = append(all, built{"shipper", "linux/" + arch, []byte("program for " + arch), info, []byte(`{"bomFormat":"CycloneDX"}`)})
	}
	return all
}

// unpackImage makes an image and unpacks the archive.
func unpackImage(t *testing.T) (dir string, archive []byte) {
	t.Helper()
	r := release{version: "v1", out: t.TempDir(), time: at}
	if err := r.image("shipper", made()); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join(r.out, "logstow-shipper-v1-oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, data := range untar(t, bytes.NewReader(archive)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, archive
}

func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		data, readErr := io.ReadAll(archive)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[h.Name] = data
	}
}

// The image of both architectures is valid, runs as a user other than root, has the program and certificates, and each architecture's
// bill of materials and provenance refer to it.
func TestImage(t *testing.T) {
	t.Parallel()
	dir, archive := unpackImage(t)
	if _, again := unpackImage(t); !bytes.Equal(archive, again) {
		t.Error("the same programs give another image")
	}
	root, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 5 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1" {
		t.Fatalf("%+v", manifest.Manifests)
	}
	index, err := root.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[v1.Hash]string{}
	for i, b := range made() {
		d := platforms.Manifests[i]
		images[d.Digest] = b.platform
		if d.Platform == nil || d.Platform.String() != b.platform {
			t.Errorf("%v, want %s", d.Platform, b.platform)
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, b)
	}
	found := map[string]bool{}
	for _, d := range manifest.Manifests[1:] {
		image, err := root.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := image.Manifest()
		if err != nil || m.Subject == nil {
			t.Fatalf("%+v: %v", m, err)
		}
		platform, ok := images[m.Subject.Digest]
		if !ok {
			t.Errorf("%s refers to no image", d.Digest)
		}
		found[platform+" "+string(m.Layers[0].MediaType)] = true
		if m.Layers[0].MediaType != "application/vnd.in-toto+json" {
			continue
		}
		blob, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", m.Layers[0].Digest.Hex))
		if err != nil {
			t.Fatal(err)
		}
		var statement struct {
			Subject       []struct{ Digest map[string]string }
			PredicateType string
		}
		if err := json.Unmarshal(blob, &statement); err != nil {
			t.Fatal(err)
		}
		if statement.Subject[0].Digest["sha256"] != m.Subject.Digest.Hex || statement.PredicateType != "https://slsa.dev/provenance/v1" || !bytes.Contains(blob, []byte(`"gitCommit":"0123abc"`)) {
			t.Errorf("%s", blob)
		}
	}
	if len(found) != 4 {
		t.Errorf("attached %v", found)
	}
}

func checkImage(t *testing.T, image v1.Image, b built) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/program" || "linux/"+config.Architecture != b.platform ||
		c.Labels["org.opencontainers.image.version"] != "v1" || c.Labels["org.opencontainers.image.revision"] != "0123abc" || !config.Created.Equal(at) {
		t.Errorf("%+v", config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, content)
	if got := string(files["program"]); got != string(b.data) {
		t.Errorf("program %q", got)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("no certificates")
	}
	if _, ok := files["var/lib/logstow/"]; !ok {
		t.Error("no directory for the buffer")
	}
}
