package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/store"
)

func flags() []ucli.Flag {
	return cli.Under(
		"",
		cli.Repeated("service,s", ""),
		cli.Repeated("regexp,e", ""),
		cli.Items("level,l", ""),
		cli.Repeated("class=$CLI_TEST_CLASS", "").Clearable(),
		cli.Decimal("cost", ""),
		cli.Text("name", "").Clearable(),
		cli.Switch("ignore-case,i", ""),
		cli.Switch("follow,f", ""),
		cli.Number("limit,n", ""),
		cli.Text("from", ""),
	)
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
		{"-e --", "--regexp=--|--"},
		{"-s a --service=b -sc", "--service=a|--service=b|--service=c|--"},
		{"-i -i --ignore-case", "--ignore-case|--"},
		{"--ignore-case=false", "--ignore-case=false|--"},
		{"-l a,b -l c", "--level=a,b|--level=c|--"},
		{"--class= --class=x --name=", "--class=|--class=x|--name=|--"},
		{"--cost 1e-3", "--cost=1e-3|--"},
	} {
		got, err := cli.Permute(flags(), nil, strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	for _, args := range []string{
		"-q", "--nope", "--nope=1", "-iq", "-n", "--limit", "--n 5", "---", "-é",
		"-n 5 -n 5", "-n5 --limit=6", "--limit=5 --limit=5", "--from a --from b", "--name= --name=x", "-i --ignore-case=true", "--ignore-case=true -i",
		"-e=", "--regexp=", "--from=", "--limit=", "--cost=", "--ignore-case=", "-n x", "--cost x", "--ignore-case=x", "-l a,,b", "-l [a", "-l a,", "-l \"a",
	} {
		_, err := cli.Permute(flags(), nil, strings.Fields(args))
		if cli.Status(err) != cli.Usage {
			t.Errorf("%s: %v, want a usage error", args, err)
		}
	}
}

// A program that is run again does the same, whatever it was run with before.
func TestRunAgain(t *testing.T) {
	t.Setenv("CLI_TEST_CLASS", "audit")
	var out, errs bytes.Buffer
	p := cli.Program{App: &ucli.App{
		Name: "tool", Version: "v1", Writer: &out, ErrWriter: &errs,
		Commands: []*ucli.Command{{Name: "query", Flags: flags(), Action: func(c *ucli.Context) error {
			_, err := fmt.Fprintln(&out, cli.List(c, "class"), c.IsSet("class"), cli.List(c, "service"), c.Int("limit"), c.Bool("follow"))
			return err
		}}},
	}}
	first := map[string]string{}
	for range 2 {
		for _, args := range []string{"query -s x -n 5 -f", "query", "query -h", "query --class=y", "-h", "-v"} {
			out.Reset()
			if status := cli.Run(t.Context(), p, append([]string{"tool"}, strings.Fields(args)...)); status != 0 {
				t.Fatalf("%s: status %d: %s", args, status, &errs)
			}
			if before, again := first[args]; again && out.String() != before {
				t.Errorf("%s: %q, before %q", args, &out, before)
			}
			first[args] = out.String()
		}
	}
	if got := first["query"]; got != "[audit] true [] 0 false\n" {
		t.Errorf("query printed %q", got)
	}
}

// Programs in one process share nothing that a run writes (go test -race).
func TestRunConcurrently(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var out, errs bytes.Buffer
			p := cli.Program{App: &ucli.App{
				Name: "tool", Version: "v1", Writer: &out, ErrWriter: &errs,
				Commands: []*ucli.Command{{Name: "query", Flags: flags(), Action: func(*ucli.Context) error { return nil }}},
			}}
			for _, args := range [][]string{{"tool", "query"}, {"tool", "query", "-h"}, {"tool", "-v"}} {
				out.Reset()
				if status := cli.Run(context.Background(), p, args); status != 0 {
					t.Errorf("%s: status %d: %s", args, status, &errs)
				}
			}
			if out.String() != "tool version v1\n" {
				t.Errorf("-v printed %q", &out)
			}
		})
	}
	wg.Wait()
}

func TestRun(t *testing.T) {
	t.Parallel()
	cause := error(nil)
	newApp := func(out, errs *bytes.Buffer) *ucli.App {
		return &ucli.App{
			Name: "tool", Usage: "be used", Writer: out, ErrWriter: errs,
			Commands: []*ucli.Command{{
				Name: "query", Flags: flags(),
				Action: func(c *ucli.Context) error {
					fmt.Fprintln(out, cli.List(c, "service"), cli.List(c, "regexp"), c.Int("limit"), c.Args().Slice())
					return cause
				},
			}},
		}
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := cli.Run(context.Background(), cli.Program{
			App: newApp(&out, &errs), OtherNames: map[string]string{"ask": "use query"},
			OtherFlags: map[string]string{"v": "--regexp", "w": "--words", "svc": "--service all"},
		}, append([]string{"tool"}, args...))
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
		{"query -n five", nil, 2, "", "tool: -n \"five\": want a whole number\n"},
		{"query -q", nil, 2, "", "tool: unknown flag -q\nhint: put -- before"},
		{"query --frobnicate", nil, 2, "", "tool: unknown flag --frobnicate\ntool: see tool query --help\n"},
		{"query --frob-2=x", nil, 2, "", "tool: unknown flag --frob-2=x\ntool: see tool query --help\n"},
		{"query --x,y", nil, 2, "", "tool: unknown flag --x,y\nhint: put -- before"},
		{"query --2026", nil, 2, "", "hint: put -- before"},
		{"query --a--b", nil, 2, "", "hint: put -- before"},
		{"query ---", nil, 2, "", "hint: put -- before"},
		{"query -frobnicate", nil, 2, "", "hint: put -- before"},
		{"query --serv x", nil, 2, "", "tool: unknown flag --serv\nhint: did you mean --service?\n"},
		{"query --sevrice x", nil, 2, "", "hint: did you mean --service?\n"},
		{"query -v x", nil, 2, "", "tool: unknown flag -v\nhint: did you mean --regexp?\n"},
		{"query --svc=x", nil, 2, "", "hint: did you mean --service all?\n"},
		{"query -w", nil, 2, "", "hint: put -- before"},
		{"query --n 5", nil, 2, "", "hint: did you mean -n?\n"},
		{"query -n 5 --limit 6", nil, 2, "", "tool: --limit is given more than once\nhint: give it once\n"},
		{"query -e=", nil, 2, "", "tool: -e has an empty value\nhint: omit -e; a shell variable in its value may be unset\n"},
		{"quary", nil, 2, "", "tool: unknown command \"quary\"\nhint: did you mean tool query?\ntool: see tool --help\n"},
		{"ask", nil, 2, "", "hint: use query\n"},
		{"walk", nil, 2, "", "hint: the commands are query\n"},
		{"-", nil, 2, "", "tool: unknown command \"-\"\n"},
		{"-- --help", nil, 2, "", "tool: a command is missing before --\n"},
		{"--", nil, 0, "tool - be used\n\nUsage: tool COMMAND", ""},
		{"--nope", nil, 2, "", "unknown flag --nope"},
		{"query", errors.New("broken\nin two"), 3, "[] [] 0 []\n", "tool: broken; in two\n"},
		{"query", errors.New("a \x1b[31mred\u009b\tname"), 3, "[] [] 0 []\n", "tool: a \\x1b[31mred\\x9b\tname\n"},
		{"query", cli.Exit(1), 1, "[] [] 0 []\n", ""},
		{"query", &store.Error{Op: "read", Object: "x", Class: store.ErrAccessDenied}, 4, "[] [] 0 []\n", "tool: cannot read x: access denied\n"},
		{"query", context.Canceled, 130, "[] [] 0 []\n", ""},
		{"-s x", nil, 2, "", "tool: a command is missing before -s\nhint: the commands are query\n"},
		{"-s x query", nil, 2, "", "tool: the command comes first\nhint: tool COMMAND [flags]\n"},
		{"", nil, 0, "tool - be used\n\nUsage: tool COMMAND", ""},
		{"help", nil, 0, "tool - be used\n\nUsage: tool COMMAND", ""},
		{"help query", nil, 0, "tool query - \n\nUsage: tool query [flags]", ""},
		{"--help", nil, 0, "tool - ", ""},
		{"-h", nil, 0, "tool - ", ""},
		{"query x --help -n 5", nil, 0, "tool query - ", ""},
		{"query -- --help", nil, 0, "[] [] 0 [--help]", ""},
	} {
		cause = c.cause
		status, out, errs := run(strings.Fields(c.args)...)
		if status != c.status || !strings.HasPrefix(out, c.out) || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
			t.Errorf("%s (%v): status %d, out %q, err %q", c.args, c.cause, status, out, errs)
		}
	}
}

// Values reach the command as they were typed, whatever is in them.
func TestListValues(t *testing.T) {
	t.Setenv("CLI_TEST_CLASS", " a, b ")
	for _, c := range []struct {
		args  []string
		flag  string
		want  []string
		isSet bool
	}{
		{[]string{"-e", " ", "-e", " a ", "--regexp=\tb,c\n"}, "regexp", []string{" ", " a ", "\tb,c\n"}, true},
		{[]string{"-e", "--", "-e-x", "-e", "é\xff"}, "regexp", []string{"--", "-x", "é\xff"}, true},
		{[]string{"-l", "a, b", "-l", `"c,d",[e,f],g(h,"i)")`}, "level", []string{"a", "b", `"c,d"`, "[e,f]", `g(h,"i)")`}, true},
		{[]string{"-l", `"a\",b",c`}, "level", []string{`"a\",b"`, "c"}, true},
		{nil, "class", []string{" a, b "}, true},
		{[]string{"--class=", "--class", " x "}, "class", []string{"", " x "}, true},
		{nil, "service", nil, false},
		{nil, "limit", nil, false},
	} {
		app := &ucli.App{Name: "tool", Writer: io.Discard, ErrWriter: io.Discard, Commands: []*ucli.Command{{
			Name: "query", Flags: flags(),
			Action: func(ctx *ucli.Context) error {
				if diff := cmp.Diff(c.want, cli.List(ctx, c.flag)); diff != "" {
					t.Errorf("%q: %s", c.args, diff)
				}
				if got := ctx.IsSet(c.flag); got != c.isSet {
					t.Errorf("%q: set %v", c.args, got)
				}
				return nil
			},
		}}}
		if status := cli.Run(context.Background(), cli.Program{App: app}, append([]string{"tool", "query"}, c.args...)); status != 0 {
			t.Errorf("%q: status %d", c.args, status)
		}
	}
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	if err := cli.OneOf("output", "json", "table", "json"); err != nil {
		t.Error(err)
	}
	err := cli.OneOf("output", "jsno", "table", "json", "csv")
	if cli.Status(err) != cli.Usage || err.Error() != `--output "jsno": want table, json or csv` || hint.Of(err) != "did you mean --output json?" {
		t.Errorf("%v, %s", err, hint.Of(err))
	}
}
