// Command faults places deliberate faults in packages, chosen by a seed, and reports which
// of them the tests catch. Its exit status is 1 where one survives.
//
// With -levels it tells what "make test" catches from what only "make full" does: the tests of the fault's package run, then
// those of the packages that use it, then those of its package with LOGSTOW_EFFORT=full.
//
//	go run ./internal/test/mutate/cmd/faults -n 40 -seed 7 ./query/... ./buffer
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"logstow/internal/test/mutate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// errSurvived is returned if tests did not catch all faults.
var errSurvived = errors.New("faults survived") //nolint:gochecknoglobals // a sentinel

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	number := flags.Int("n", 20, "number of faults that compile")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()),
		"seed of the choice; the same seed chooses the same faults in the same code")
	tests := flags.String("tests", "", "further packages whose tests run, separated by blanks")
	files := flags.String("files", "", "regular expression that the path of the file matches")
	levels := flags.Bool("levels", false, "tell what only make full catches")
	timeout := flags.Duration("timeout", 2*time.Minute, "maximum duration of the tests of one fault")
	if err := flags.Parse(args); err != nil {
		return err
	}
	only, err := regexp.Compile(*files)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := mutate.Load(ctx, dir, flags.Args()...)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(f mutate.Fault) bool { return !only.MatchString(f.File) })
	fmt.Fprintf(out, "seed %d: %d of %d possible faults\n", *seed, min(*number, len(all)), len(all))
	rnd := rand.New(rand.NewPCG(*seed, 0))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	runner := &mutate.Runner{Dir: dir, Tests: strings.Fields(*tests), Timeout: *timeout}
	if *levels {
		return runLevels(ctx, runner, all, *number, out)
	}
	if err := runner.Check(ctx, flags.Args()...); err != nil {
		return err
	}
	caught, survived := 0, 0
	for _, f := range all {
		if caught+survived == *number {
			break
		}
		outcome, test, err := runner.Run(ctx, f)
		switch {
		case err != nil:
			return err
		case outcome == mutate.Invalid:
			continue
		case outcome == mutate.Survived:
			survived++
		default:
			caught++
		}
		if err := report(out, dir, f, caught+survived, outcome, test); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d caught, %d survived\n", caught, survived)
	if survived > 0 {
		return fmt.Errorf("%d %w", survived, errSurvived)
	}
	return nil
}

// runLevels places faults until a number of them are caught, and lists them by what catches them.
func runLevels(ctx context.Context, runner *mutate.Runner, all []mutate.Fault, number int, out io.Writer) error {
	full := *runner
	full.Env = []string{"LOGSTOW_EFFORT=full"}
	lists := map[string][]string{}
	caught := 0
	for _, f := range all {
		if caught == number {
			break
		}
		by := "make test"
		outcome, test, err := runner.Run(ctx, f)
		if err == nil && outcome == mutate.Survived {
			users := *runner
			if users.Tests, err = runner.Dependents(ctx, f.Package); err == nil && len(users.Tests) > 0 {
				by = "make test, by a package that uses it"
				outcome, test, err = users.Run(ctx, f)
			}
		}
		if err == nil && outcome == mutate.Survived {
			by = "make full only"
			outcome, test, err = full.Run(ctx, f)
		}
		switch {
		case err != nil:
			return err
		case outcome == mutate.Invalid:
			continue
		case outcome == mutate.Survived:
			by = "nothing"
		default:
			caught++
		}
		if err := report(out, runner.Dir, f, caught, mutate.Outcome("caught by "+by), test); err != nil {
			return err
		}
		path, err := filepath.Rel(runner.Dir, f.File)
		if err != nil {
			path = f.File
		}
		lists[by] = append(lists[by], fmt.Sprintf("%s:%d %s", path, f.Line, f.Kind))
	}
	for _, by := range slices.Sorted(maps.Keys(lists)) {
		fmt.Fprintf(out, "\n%d caught by %s:\n%s\n", len(lists[by]), by, strings.Join(lists[by], "\n"))
	}
	return nil
}

// report prints a fault, what became of it, and the test that failed.
func report(out io.Writer, dir string, f mutate.Fault, n int, outcome mutate.Outcome, test string) error {
	src, err := os.ReadFile(f.File)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(dir, f.File)
	if err != nil {
		path = f.File
	}
	if test != "" {
		test = " (" + test + ")"
	}
	_, err = fmt.Fprintf(out, "\n%d. %s%s: %s:%d\n%s", n, outcome, test, path, f.Line, f.Diff(src))
	return err
}
