package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// packages writes the deb and the rpm of an architecture with the programs in dir, as deploy/packages/nfpm.yaml describes them.
func (r *release) packages(arch, dir string, extra []file) error {
	if err := stage(dir, extra); err != nil {
		return err
	}
	values := map[string]string{"ARCH": arch, "VERSION": packageVersion(r.version), "STAGE": filepath.Clean(dir)}
	for _, format := range []string{"deb", "rpm"} {
		config, err := nfpm.ParseFileWithEnvMapping(filepath.Join("deploy", "packages", "nfpm.yaml"),
			func(name string) string { return values[name] })
		if err != nil {
			return err
		}
		config.MTime = r.time
		info, err := config.Get(format)
		if err != nil {
			return fmt.Errorf("read the description of the %s: %w", format, err)
		}
		info = nfpm.WithDefaults(info)
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return fmt.Errorf("prepare the %s for %s: %w", format, arch, err)
		}
		// Nothing has the time of a build.
		for _, c := range info.Contents {
			c.FileInfo.MTime = r.time
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("make the %s for %s: %w", format, arch, err)
		}
		if err := r.write(packager.ConventionalFileName(info), out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// stage writes manual pages, compressed, and completions beside the programs in dir.
func stage(dir string, extra []file) error {
	for _, f := range extra {
		top, name, _ := strings.Cut(f.path, "/")
		data := f.data
		switch top {
		case "completions":
		case "man":
			var out bytes.Buffer
			z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
			if err != nil {
				return err
			}
			if _, err := z.Write(f.data); err != nil {
				return err
			}
			if err := z.Close(); err != nil {
				return err
			}
			name, data = name+".gz", out.Bytes()
		default:
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packageVersion is a version as dpkg and rpm sort it: "v1.2.0-rc.1" before "v1.2.0" before "v1.2.0-5-gabcdef0" (git describe: five
// commits later). A commit without a tag is before all versions.
func packageVersion(version string) string {
	match := regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(.+))?$`).FindStringSubmatch(version)
	if match == nil {
		return "0~" + plain(version)
	}
	number, suffix := match[1], match[2]
	if suffix == "" {
		return number
	}
	if first, _, _ := strings.Cut(suffix, "-"); isNumber(first) || suffix == "dirty" {
		return number + "+" + plain(suffix)
	}
	return number + "~" + plain(suffix)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// plain replaces what versions of packages may not have.
func plain(version string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '.'
	}, version)
}
