package record_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/record"
)

func TestLevelNames(t *testing.T) {
	t.Parallel()
	want := []string{"-", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
	if len(want) != record.Levels {
		t.Fatalf("%d levels, want %d", record.Levels, len(want))
	}
	for i, name := range want {
		l := record.Level(i)
		if l.String() != name {
			t.Errorf("Level(%d) = %s, want %s", i, l, name)
		}
		if got, err := record.ParseLevel(name); err != nil || got != l {
			t.Errorf("ParseLevel(%s) = %v, %v", name, got, err)
		}
	}
	if got := record.Level(200).String(); got != "-" {
		t.Errorf("Level(200) = %s", got)
	}
	for _, name := range []string{"", "error", "WARNING", "E", " INFO", "INFO "} {
		if got, err := record.ParseLevel(name); err == nil {
			t.Errorf("ParseLevel(%q) = %v, want an error", name, got)
		}
	}
}

func TestLevelFromAlias(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]record.Level{
		"trace TRC trce finer finest Verbose":                 record.Trace,
		"debug DBG dbug fine config":                          record.Debug,
		"info Information informational notice INF Note":      record.Info,
		"warn WARNING Warning wrn":                            record.Warn,
		"error err ERR severe fail":                           record.Error,
		"fatal critical CRIT alert emerg emergency panic ftl": record.Fatal,
		"e I w - err0r errors information_ informationally":   record.None,
	} {
		for name := range strings.FieldsSeq(names) {
			if got := record.LevelFromAlias(name); got != want {
				t.Errorf("LevelFromAlias(%q) = %v, want %v", name, got, want)
			}
			if got := record.LevelFromAlias([]byte(name)); got != want {
				t.Errorf("LevelFromAlias([]byte(%q)) = %v, want %v", name, got, want)
			}
		}
	}
}

func TestLevelNumbers(t *testing.T) {
	t.Parallel()
	syslog := []record.Level{
		record.Fatal, record.Fatal, record.Fatal, record.Error, record.Warn, record.Info, record.Info, record.Debug, record.None,
	}
	for n, want := range syslog {
		if got := record.LevelFromSyslog(n); got != want {
			t.Errorf("LevelFromSyslog(%d) = %v, want %v", n, got, want)
		}
	}
	for n, want := range map[int]record.Level{
		-1: record.None, 0: record.None, 1: record.Trace, 4: record.Trace, 5: record.Debug, 9: record.Info,
		13: record.Warn, 17: record.Error, 20: record.Error, 21: record.Fatal, 24: record.Fatal, 25: record.None,
	} {
		if got := record.LevelFromOTel(n); got != want {
			t.Errorf("LevelFromOTel(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestCleanSource(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "-"},
		{"plain", "pod/container.log", "pod/container.log"},
		{"controls", "a\tb\nc\x00d\x7fe\rf", "a_b_c_d_e_f"},
		{"limit", strings.Repeat("a", 255), strings.Repeat("a", 255)},
		{"past the limit", strings.Repeat("a", 300), strings.Repeat("a", 255)},
		{"rune at the limit", strings.Repeat("a", 254) + "é", strings.Repeat("a", 254)},
		{"long rune at the limit", strings.Repeat("a", 253) + "😀x", strings.Repeat("a", 253)},
		{"rune that ends at the limit", strings.Repeat("a", 251) + "😀x", strings.Repeat("a", 251) + "😀"},
		{"not UTF-8", strings.Repeat("\x80", 300), strings.Repeat("\x80", 255)},
		{"not UTF-8 but short", "\xff\xfe", "\xff\xfe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := record.CleanSource(tc.in); got != tc.want {
				t.Errorf("CleanSource(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func FuzzCleanSource(f *testing.F) {
	f.Add(strings.Repeat("é", 200))
	f.Add("a\nb")
	f.Fuzz(func(t *testing.T, s string) {
		got := record.CleanSource(s)
		if got == "" || len(got) > record.MaxSource || strings.ContainsFunc(got, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			t.Errorf("CleanSource(%q) = %q", s, got)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("CleanSource(%q) = %q breaks a rune", s, got)
		}
		if again := record.CleanSource(got); again != got {
			t.Errorf("CleanSource is not stable: %q, %q", got, again)
		}
	})
}
