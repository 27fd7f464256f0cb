package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// command is something to measure.
type command struct {
	suite  *suite
	path   string
	args   []string
	before func() error
	// store is the store to use, if not the suite's, env further environment.
	store string
	env   []string
}

// command makes one of the built binaries a command.
func (b *suite) command(name string, args ...string) *command {
	return &command{suite: b, path: filepath.Join(b.dir, name), args: args}
}

// part makes a part of this program a command, so that it is measured as a process too.
func (b *suite) part(name string, args ...string) *command {
	return b.command("bench", append([]string{"-part", name, "--"}, args...)...)
}

// row is the medians of a command's runs.
type row struct {
	cpu, wall time.Duration
	peak      int64 // MiB
	faults    int64 // pages
	errs      string
}

// interleaved runs the commands alternately, each as often as the suite specifies, so that changes of
// the machine's speed affect all alike.
func (b *suite) interleaved(commands ...*command) ([]row, error) {
	runs := make([][]row, len(commands))
	for range b.runs {
		for i, c := range commands {
			r, err := c.run()
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], r)
		}
	}
	out := make([]row, len(commands))
	for i, rs := range runs {
		slices.SortFunc(rs, func(x, y row) int { return int(x.cpu - y.cpu) })
		out[i] = rs[len(rs)/2]
		slices.SortFunc(rs, func(x, y row) int { return int(x.wall - y.wall) })
		out[i].wall = rs[len(rs)/2].wall
		for _, r := range rs {
			out[i].peak, out[i].faults = max(out[i].peak, r.peak), max(out[i].faults, r.faults)
		}
	}
	return out, nil
}

// compare runs the commands alternately, and prints and returns a row of each: those after the first with their
// ratio to it, which is called base there.
func (b *suite) compare(base string, names []string, commands ...*command) ([]row, error) {
	rows, err := b.interleaved(commands...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if i == 0 {
			rows[i].print(names[i], nil, "")
			continue
		}
		rows[i].print(names[i], &rows[0], base)
	}
	return rows, nil
}

func (c *command) run() (row, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return row{}, err
		}
	}
	cmd := exec.CommandContext(c.suite.ctx, c.path, c.args...)
	store := c.suite.store
	if c.store != "" {
		store = c.store
	}
	cmd.Env = append(append(os.Environ(), "LOGSTOW_STORE="+store), c.env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begin := time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: nothing matched
		return row{}, fmt.Errorf("%s %v: %w\n%s", c.path, c.args, err, errs.Bytes())
	}
	r, err := used(cmd.ProcessState, wall)
	r.errs = errs.String()
	return r, err
}

func (r *row) print(name string, base *row, of string) {
	fmt.Printf("%-44s %8.3f %8.3f %9d %8d", name, r.cpu.Seconds(), r.wall.Seconds(), r.peak, r.faults)
	if base != nil {
		fmt.Printf(" %8.2f   %s", r.cpu.Seconds()/base.cpu.Seconds(), of)
	}
	fmt.Println()
}
