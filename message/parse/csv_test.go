package parse_test

import (
	"strings"
	"testing"

	"logstow/message/parse"
)

func TestCSVHeader(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"time,level,user\r\n":            "csv/1 'time,level,user'",
		"\ufefftime;level;a,b":           "csv/1 'time;level;a_b'",
		"time\tuser name\tstatus":        "csv/1 'time\tuser name\tstatus'",
		`"time","a, b","say ""x""",it's`: "csv/1 'time,a_ b,say _x_,it_s'",
		"one":                            "csv/1 'one'",
		"":                               "",
		"a,b …[logstow: cut 9 bytes]":    "",
		"a,\xff":                         "",
	} {
		p, ok := parse.Header("csv/1", []byte(header), true)
		if got := ""; ok {
			got = p.String()
			if got != want {
				t.Errorf("%q: %s, want %s", header, got, want)
			}
			if stored, err := parse.CompileStored(got); err != nil || stored.String() != got {
				t.Errorf("%s is not stored: %v", got, err)
			}
		} else if want != "" {
			t.Errorf("%q is no header", header)
		}
		if _, ok := parse.Header("csv/1", []byte(header), false); ok {
			t.Errorf("%q is a header in the middle of a file", header)
		}
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ parser, line, want string }{
		{"csv 'time,level,user,message'", `2026-11-20T16:04:05Z,ERROR,ann,"no ""order"", 7"`, `time=2026-11-20T16:04:05Z|level=ERROR|user=ann|message=no "order", 7`},
		{"csv 'time,level,user,message'", `time,level,user,message`, ``},
		{"csv 'time,level,user,message'", "1,,\"\",\"two\nlines\"\r", "time=1|message=two\nlines"},
		{"csv 'a,b'", `1,2,3`, `a=1|b=2`},
		{"csv 'a,b,c'", `1`, `a=1`},
		{"csv 'a;b'", `"1;2"x;3,5`, `a=1;2|b=3,5`},
		{"csv 'a\tb\tc'", "x y\t\tz", `a=x y|c=z`},
		{"csv 'a|b'", `1|2`, `a=1|b=2`},
		{"csv 'a,a,,b'", `1,2,3,4`, `a=1|b=4`},
		{"csv 'a,b'", `"open,2`, `a="open|b=2`},
		{"csv 'a,b'", `1,23 …[logstow: cut 9 bytes]`, `a=1`},
		{"csv", `1,2`, ``},
		{"w3c 'date x-a cs(Host)'", "2026-11-20\ta b\t-", `date=2026-11-20|x_a=a b`},
		{"w3c 'date x-a cs(Host)'", "2026-11-20  a  h", `date=2026-11-20|x_a=a|cs_host=h`},
	} {
		if got := strings.Join(all(t, c.parser, c.line), "|"); got != c.want {
			t.Errorf("%s: %q: %s, want %s", c.parser, c.line, got, c.want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b,c", `1,"2,""3""",4`)
	f.Add("a;b", "x;\"y\nz\"")
	f.Fuzz(func(t *testing.T, header, line string) {
		p, ok := parse.Header("csv/1", []byte(header), true)
		if !ok || strings.Contains(header, "\n") {
			return
		}
		checkStored(t, p)
		checkSplitter(t, p, []byte(line))
		if got := allOf(p, header); len(got) > 0 {
			t.Fatalf("the header %q has fields %q", header, got)
		}
	})
}
