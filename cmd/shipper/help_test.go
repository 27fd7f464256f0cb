package main

import (
	"io"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/test/clitest"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	clitest.Help(t, program)
	clitest.Hints(t, program())
}

// The examples of the help are right, as far as that can be known without running them.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	read := map[string]func(*ucli.Context) error{
		"run": func(c *ucli.Context) error { return readFlags(c) }, "check": func(c *ucli.Context) error { return readFlags(c) },
		"retain":     func(c *ucli.Context) error { _, err := retainSettings(c); return err },
		"compact":    func(c *ucli.Context) error { _, err := compactSettings(c); return err },
		"import":     func(c *ucli.Context) error { _, err := importSpec(c); return err },
		"export":     func(c *ucli.Context) error { _, err := exportSettings(c); return err },
		"verify":     func(c *ucli.Context) error { _, err := auditSettings(c); return err },
		"reindex":    func(c *ucli.Context) error { _, err := auditSettings(c); return err },
		"grant":      func(c *ucli.Context) error { _, err := grantRequest(c, time.Now()); return err },
		"quarantine": func(c *ucli.Context) error { _, _, err := quarantineRequest(c); return err },
		"resend":     func(c *ucli.Context) error { _, err := lostRelay(c); return err },
		"tap":        func(c *ucli.Context) error { _, err := newTapping(c, time.Now()); return err },
		"status":     func(c *ucli.Context) error { _ = asJSON(c); return nil },
	}
	ran := 0
	p := program()
	for _, c := range append([]*ucli.Command{{}}, p.VisibleCommands()...) {
		for _, words := range clitest.Examples(p, c.Name) {
			one := program()
			one.Writer = io.Discard
			for _, c := range one.Commands {
				if action := read[c.Name]; action != nil {
					c.Action = func(ctx *ucli.Context) error { ran++; return action(ctx) }
				}
			}
			clitest.Run(t, one, words[1:]...)
		}
	}
	if ran != 42 {
		t.Errorf("%d examples", ran)
	}
}

// readFlags reads the settings without a configuration file, which is not there.
func readFlags(c *ucli.Context) error {
	if c.String("config") != "" {
		return nil
	}
	if path := c.String("sample"); path != "" {
		_, _, err := sampleInput(c, path)
		return err
	}
	_, err := readSettings(c)
	return err
}
