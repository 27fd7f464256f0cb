package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/store"
)

func flags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringSliceFlag{Name: "service", Aliases: []string{"s"}},
		&ucli.StringSliceFlag{Name: "regexp", Aliases: []string{"e"}},
		&ucli.BoolFlag{Name: "ignore-case", Aliases: []string{"i"}},
		&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}},
		&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}},
		&ucli.StringFlag{Name: "from"},
	}
}

func TestPermute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"PATTERN -s x", "--service=x|--|PATTERN"},
		{"-s x PATTERN", "--service=x|--|PATTERN"},
		{"a --service=x b -i", "--service=x|--ignore-case|--|a|b"},
		{"-e a{2,3}", "--regexp=a{2,3}|--"},
		{"-ea{2,3}", "--regexp=a{2,3}|--"},
		{"-n5", "--limit=5|--"},
		{"-n=5", "--limit=5|--"},
		{"-n 5 -if", "--limit=5|--ignore-case|--follow|--"},
		{"-in5", "--ignore-case|--limit=5|--"},
		{"-- -q", "--|-q"},
		{"-i -- --from -n", "--ignore-case|--|--from|-n"},
		{"--from -2h x", "--from=-2h|--|x"},
		{"-", "--|-"},
		{"x -- y", "--|x|y"},
		{"--help", "--help|--"},
		{"-e --", "--regexp=--|--"},
	} {
		got, err := cli.Permute(flags(), strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	for _, args := range []string{"-q", "--nope", "--nope=1", "-iq", "-n", "--limit", "--n 5", "---", "-é"} {
		_, err := cli.Permute(flags(), strings.Fields(args))
		if cli.Status(err) != cli.Usage {
			t.Errorf("%s: %v, want a usage error", args, err)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	cause := error(nil)
	newApp := func(out, errs *bytes.Buffer) *ucli.App {
		return &ucli.App{
			Name: "tool", Writer: out, ErrWriter: errs,
			Commands: []*ucli.Command{{
				Name: "query", Flags: flags(),
				Action: func(c *ucli.Context) error {
					fmt.Fprintln(out, c.StringSlice("service"), c.StringSlice("regexp"), c.Int("limit"), c.Args().Slice())
					return cause
				},
			}},
		}
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := cli.Run(context.Background(), newApp(&out, &errs), append([]string{"tool"}, args...))
		return status, out.String(), errs.String()
	}
	for _, c := range []struct {
		args   string
		cause  error
		status int
		out    string
		errs   string
	}{
		{"query a -s x,y -s z -n5 -e {1,2} -- -q", nil, 0, "[x,y z] [{1,2}] 5 [a -q]\n", ""},
		{"query query", nil, 0, "[] [] 0 [query]\n", ""},
		{"query -n five", nil, 2, "", "tool: invalid value \"five\" for flag -limit: parse error"},
		{"query -q", nil, 2, "", "tool: unknown flag -q"},
		{"query --serv x", nil, 2, "", "did you mean --service?"},
		{"quary", nil, 2, "", `tool: unknown command "quary"`},
		{"--nope", nil, 2, "", "unknown flag --nope"},
		{"query", errors.New("broken\nin two"), 3, "[] [] 0 []\n", "tool: broken; in two\n"},
		{"query", cli.Exit(1), 1, "[] [] 0 []\n", ""},
		{"query", &store.Error{Op: "read", Object: "x", Class: store.ErrRefused}, 4, "[] [] 0 []\n", "tool: read x: access refused\n"},
		{"query", context.Canceled, 130, "[] [] 0 []\n", ""},
		{"-s x query", nil, 2, "", "tool: the command comes first: tool COMMAND"},
		{"help", nil, 0, "NAME:\n   tool - ", ""},
		{"help query", nil, 0, "NAME:\n   tool query", ""},
		{"--help", nil, 0, "NAME:", ""},
		{"query --help", nil, 0, "NAME:", ""},
	} {
		cause = c.cause
		status, out, errs := run(strings.Fields(c.args)...)
		if status != c.status || !strings.HasPrefix(out, c.out) || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
			t.Errorf("%s (%v): status %d, out %q, err %q", c.args, c.cause, status, out, errs)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "15m": 15 * time.Minute, "2h": 2 * time.Hour, "3d": 72 * time.Hour,
		"1w": 168 * time.Hour, "1w2d": 216 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		if got, err := cli.ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "5", "d", "-2h", "0s", "1d1w", "NaNd", "1e300d", "-1d", "infd", "9999999h", "1x"} {
		if got, err := cli.ParseDuration(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"0": 0, "8MiB": 8 << 20, "8M": 8 << 20, "500KB": 500_000, "1.5k": 1536, "2 GiB": 2 << 30, "7B": 7, "1tb": 1e12,
	} {
		if got, err := cli.ParseSize(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "x", "-1", "8Mib/s", "8XB", "99999999999T", "1..2"} {
		if got, err := cli.ParseSize(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}
