package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is that of the images, who is not root and has no name.
const user = 65532

// image writes an archive with the OCI layout of a program's image for all architectures of Linux. Each architecture's
// manifest is the subject of two others: bill of materials and provenance.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
func (r *release) image(program string, all []built) error {
	dir := filepath.Join(r.out, "build", "image-"+program)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var attached []v1.Image
	for _, b := range all {
		image, err := r.platformImage(b)
		if err != nil {
			return err
		}
		subject, err := partial.Descriptor(image)
		if err != nil {
			return err
		}
		statement, err := provenance(b, r.version, r.time, subject.Digest)
		if err != nil {
			return err
		}
		for _, a := range []struct {
			kind types.MediaType
			data []byte
		}{{"application/vnd.cyclonedx+json", b.bill}, {"application/vnd.in-toto+json", statement}} {
			one, err := referrer(a.kind, a.data, *subject)
			if err != nil {
				return err
			}
			attached = append(attached, one)
		}
		_, arch, _ := strings.Cut(b.platform, "/")
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	index, ok := mutate.Annotations(index, r.labels(program, all[0].info)).(v1.ImageIndex)
	if !ok {
		return errors.New("the annotated index is no index")
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	for _, one := range attached {
		if err := path.AppendImage(one); err != nil {
			return err
		}
	}
	data, err := directory(dir, r.time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("logstow-%s-%s-oci.tar", program, r.version), data)
}

// platformImage is the image of one architecture.
func (r *release) platformImage(b built) (v1.Image, error) {
	content, err := rootFileSystem(b.data, r.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release"},
	}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Created = "linux", v1.Time{Time: r.time}
	_, config.Architecture, _ = strings.Cut(b.platform, "/")
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/program"}, Cmd: []string{"--help"},
		Env: []string{"XDG_STATE_HOME=/var/lib"}, Volumes: map[string]struct{}{"/var/lib/logstow": {}}, Labels: r.labels(b.program, b.info),
	}
	return mutate.ConfigFile(image, config)
}

// labels describe an image.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
func (r *release) labels(program string, info *debug.BuildInfo) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    "Logstow " + program,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  r.time.Format(time.RFC3339),
	}
	if revision := setting(info, "vcs.revision"); revision != "" {
		labels["org.opencontainers.image.revision"] = revision
	}
	return labels
}

// setting is one of the build's, "" if it has none.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// rootFileSystem is the layer: the program, the certificates of Mozilla's authorities, and the directories that must exist and
// belong to the image's user, for use without Kubernetes.
func rootFileSystem(program []byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	add := func(name string, mode int64, owner int, data []byte) error {
		h := &tar.Header{
			Name:     name,
			Mode:     mode,
			Uid:      owner,
			Gid:      owner,
			Size:     int64(len(data)),
			ModTime:  at,
			Typeflag: tar.TypeReg,
			Format:   tar.FormatPAX,
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	err := errors.Join(
		add("etc/", 0o755, 0, nil), add("etc/ssl/", 0o755, 0, nil), add("etc/ssl/certs/", 0o755, 0, nil),
		add("etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()),
		add("program", 0o755, 0, program),
		add("tmp/", 0o1777, 0, nil),
		add("var/", 0o755, 0, nil), add("var/lib/", 0o755, user, nil), add("var/lib/logstow/", 0o755, user, nil),
		t.Close(),
	)
	return out.Bytes(), err
}

// authorities are the certificates that Mozilla trusts without constraints, in PEM.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// referrer is a manifest with data about the subject.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidelines-for-artifact-usage
func referrer(kind types.MediaType, data []byte, subject v1.Descriptor) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind)
	image, err := mutate.AppendLayers(image, static.NewLayer(data, kind))
	if err != nil {
		return nil, err
	}
	with, ok := mutate.Subject(image, subject).(v1.Image)
	if !ok {
		return nil, errors.New("the manifest with a subject is no image")
	}
	return with, nil
}

// provenance is the statement of how a program's image was made.
// https://slsa.dev/spec/v1.0/provenance
func provenance(b built, version string, at time.Time, digest v1.Hash) ([]byte, error) {
	type object = map[string]any
	materials := []object{{"uri": "pkg:golang/std@" + strings.TrimPrefix(b.info.GoVersion, "go")}}
	if revision := setting(b.info, "vcs.revision"); revision != "" {
		materials = append(materials, object{"uri": "git+logstow", "digest": object{"gitCommit": revision}})
	}
	for _, m := range b.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		materials = append(materials, object{"uri": "pkg:golang/" + m.Path + "@" + m.Version, "annotations": object{"go.sum": m.Sum}})
	}
	return json.Marshal(object{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       []object{{"name": b.program, "digest": object{digest.Algorithm: digest.Hex}}},
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType": "urn:logstow:make-release:1",
				"externalParameters": object{
					"program":  b.program,
					"version":  version,
					"platform": b.platform,
					"modified": setting(b.info, "vcs.modified") == "true",
				},
				"internalParameters":   object{"flags": setting(b.info, "-ldflags"), "tags": setting(b.info, "-tags"), "epoch": at.Unix()},
				"resolvedDependencies": materials,
			},
			"runDetails": object{"builder": object{"id": "urn:logstow:make-release"}},
		},
	})
}

// directory packs a directory, in order of the paths.
func directory(dir string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = t.Write(data)
		return err
	})
	return out.Bytes(), errors.Join(err, t.Close())
}
