// Command compactor compacts the store in a directory without waiting for anything, in
// small outputs: what the crash test kills.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"logstow/compaction"
	"logstow/store/open"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) (err error) {
	s, err := open.Store(ctx, dir, open.Options{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.Limits.LateAge, o.Limits.Inputs = 0, 0, 0, 12
	report, err := compaction.Run(ctx, s, o)
	return errors.Join(err, report.Err())
}
