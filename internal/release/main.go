// Command release builds the programs for all platforms and packs them: an
// archive a platform, a bill of materials each (CycloneDX), and SHA-256 sums.
// The same sources give the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is what is to be made.
type release struct {
	version string
	out     string
	// time is that of the files in archives.
	time time.Time
	// platforms are GOOS/GOARCH.
	platforms []string
}

func main() {
	var r release
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "GOOS/GOARCH, …")
	epoch := flag.Int64("epoch", 0, "time of the files in archives, in Unix seconds")
	flag.StringVar(&r.version, "version", "dev", "version of the programs")
	flag.StringVar(&r.out, "out", "dist", "directory of what is made; it is emptied")
	flag.Parse()
	r.platforms, r.time = strings.Split(*platforms, ","), time.Unix(*epoch, 0).UTC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := r.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	host, err := r.build(ctx, "")
	if err != nil {
		return err
	}
	extra, err := documents(ctx, host)
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		dir, err := r.build(ctx, platform)
		if err != nil {
			return err
		}
		if err := r.pack(platform, dir, extra); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(r.out, "build")); err != nil {
		return err
	}
	return r.sums()
}

// programs are what is built.
func programs() []string { return []string{"logq", "shipper"} }

// build builds the programs for a platform, or for this machine.
func (r *release) build(ctx context.Context, platform string) (dir string, err error) {
	dir = filepath.Join(r.out, "build", strings.ReplaceAll(platform, "/", "-")) + string(filepath.Separator)
	goos, goarch, _ := strings.Cut(platform, "/")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+r.version, "-o", dir, "./cmd/logq", "./cmd/shipper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if platform != "" {
		build.Env = append(build.Env, "GOOS="+goos, "GOARCH="+goarch)
	}
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build for %s: %w", platform, err)
	}
	return dir, nil
}

// documents are the files that go into every archive beside the programs; manual
// pages and completions are asked of the programs in dir.
func documents(ctx context.Context, dir string) ([]file, error) {
	var files []file
	for _, path := range []string{"LICENSE", "README.md", "CHANGELOG.md", "deploy/systemd/logstow-shipper.service", "deploy/prometheus/logstow.rules.yaml", "deploy/grafana/logstow.json"} {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{path, 0o644, data})
	}
	for _, program := range programs() {
		for _, made := range []struct {
			path string
			args []string
		}{
			{"man/" + program + ".1", []string{"man"}},
			{"completions/" + program + ".bash", []string{"completion", "bash"}},
			{"completions/_" + program, []string{"completion", "zsh"}},
			{"completions/" + program + ".fish", []string{"completion", "fish"}},
		} {
			text, err := exec.CommandContext(ctx, filepath.Join(dir, program), made.args...).Output()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", program, strings.Join(made.args, " "), err)
			}
			files = append(files, file{made.path, 0o644, text})
		}
	}
	return files, nil
}

// pack writes a platform's archive and bills of materials.
func (r *release) pack(platform, dir string, extra []file) error {
	files := slices.Clone(extra)
	for _, program := range programs() {
		path := filepath.Join(dir, program)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, file{program, 0o755, data})
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read what %s is made of: %w", path, err)
		}
		bill, err := materials(program, r.version, r.time, info)
		if err != nil {
			return err
		}
		files = append(files, file{"sbom/" + program + ".cdx.json", 0o644, bill})
	}
	name := fmt.Sprintf("logstow-%s-%s", r.version, strings.ReplaceAll(platform, "/", "-"))
	data, err := archive(name, r.time, files)
	if err != nil {
		return err
	}
	return r.write(name+".tar.gz", data)
}

// sums writes the checksums of all that was made.
func (r *release) sums() error {
	made, err := filepath.Glob(filepath.Join(r.out, "*.tar.gz"))
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, path := range made {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&lines, "%s  %s\n", hex.EncodeToString(sum[:]), filepath.Base(path))
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
