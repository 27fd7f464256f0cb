package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A service's parser goes with its segments: through the shipper's configuration and the metadata of blobs,
// whatever characters its expression has, into the fields of queries; and levels follow from its captures.
func TestParsers(t *testing.T) {
	t.Parallel()
	access := `192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /pay HTTP/1.1" 503 17 "-" "curl"`
	cases := []struct{ service, parse, line, where, fields, found, level string }{
		{"default", "", access, "status >= 500", "path,status", "/pay\t503", "ERROR"},
		{"auto", "auto", access, "status >= 500", "path,status", "/pay\t503", "ERROR"},
		{"none", "none", access, "not has(status)", "status", "", "-"},
		{"none-level", "none", "2026-11-20 15:04:05 WARN request failed status=503", "not has(status)", "status", "", "WARN"},
		{"none-bracket", "none", "2026-11-20T15:04:05Z [error] request failed", "level == 'error'", "level", "ERROR", "ERROR"},
		{"captured-status", `pattern 'took <took> status <status>'`, "took 5ms status 404", "took < 6ms", "took,status", "5ms\t404", "WARN"},
		{"captured-level", `pattern '<_> ! <level> ! <text>'`, "2026-11-20T15:04:05Z ! CRIT ! on fire", `text == "on fire"`, "text", "on fire", "FATAL"},
		{"no-level", `pattern '<ip> <_>'`, access, `ip == "192.0.2.7"`, "ip", "192.0.2.7", "-"},
		{"quotes", `pattern '"<size>" ''%41 100%% «<word>» \t "%"<status>'`, `"5µm" ''%41 100%% «日本» \t "%"500`, `size == "5µm"`, "size,word", "5µm\t日本", "ERROR"},
		{"regexp", "regexp '(?P<code>5\\d\\d)|\\x22(?P<word>[^\"%]+)%\\x22'", `a "日本%" b`, `word == "日本"`, "word", "日本", "-"},
		{"backquotes", "pattern `it's <what>; <rest>`", "it's 50%; x=y", `what == "50%"`, "what,rest", "50%\tx=y", "-"},
	}
	onStores(t, func(t *testing.T, s target) {
		dir := t.TempDir()
		config := "store: " + s.store + "\ninstance: pod\ninputs:\n"
		for _, c := range cases {
			file := filepath.Join(dir, c.service+".log")
			appendFile(t, file, c.line+"\n")
			config += "  - files: " + file + "\n    service: " + c.service + "\n"
			if c.parse != "" {
				config += "    parse: |-\n      " + c.parse + "\n"
			}
		}
		configured := filepath.Join(dir, "shipper.yaml")
		appendFile(t, configured, config)
		s.must(t, "shipper", "run", "--once", "--config", configured)
		for _, c := range cases {
			t.Run(c.service, func(t *testing.T) {
				t.Parallel()
				query := func(args ...string) string {
					t.Helper()
					out := s.must(t, append([]string{"logq", "query", "-s", c.service, "--from", "2026-01-01"}, args...)...)
					return strings.TrimSuffix(string(out), "\n")
				}
				for _, plan := range []string{"list", "index"} {
					if diff := cmp.Diff(c.found, query("--where", c.where, "--fields", c.fields, "--plan", plan)); diff != "" {
						t.Errorf("by %s: %s", plan, diff)
					}
				}
				if got := query("--fields", "level"); got != c.level {
					t.Errorf("level %s, want %s", got, c.level)
				}
				if got := query("-o", "raw"); got != c.line {
					t.Errorf("message %q", got)
				}
			})
		}
		s.must(t, "shipper", "verify", "--full")
	})
}

// The columns of a log of IIS are known from its directive, also to a shipper that is started again in the
// middle of the file, and to queries without any configuration.
func TestDirective(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		dir := t.TempDir()
		file := filepath.Join(dir, "u_ex261120.log")
		for _, text := range []string{
			"#Software: IIS\r\n#Fields: date time c-ip cs-method cs-uri-stem sc-status time-taken\r\n2026-11-20 15:04:05 192.0.2.7 GET /cart 200 5\r\n",
			"2026-11-20 15:04:06 192.0.2.7 POST /pay 503 1200\r\n",
			"2026-11-20 15:04:07 192.0.2.8 GET - 404 7\r\n#Fields: date time sc-status cs-uri-stem\r\n2026-11-20 15:04:08 500 /late\r\n",
		} {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = f.WriteString(text); err != nil {
				t.Fatal(err)
			}
			if err = f.Close(); err != nil {
				t.Fatal(err)
			}
			s.must(t, "shipper", "run", "--once", "--service", "iis", "--time-zone", "UTC", "--buffer-dir", filepath.Join(dir, "buffer"), file)
		}
		for where, want := range map[string]string{
			"status >= 400": "POST,/pay,503,ERROR|GET,,404,WARN|,/late,500,ERROR",
			"duration > 6":  "POST,/pay,503,ERROR|GET,,404,WARN",
			"has(ip)":       "GET,/cart,200,INFO|POST,/pay,503,ERROR|GET,,404,WARN",
		} {
			out := s.must(t, "logq", "query", "-s", "iis", "--from", "2026-11-20", "--where", where, "--fields", "method,path,status,level")
			got := strings.NewReplacer("\t", ",", "\n", "|").Replace(strings.TrimSuffix(string(out), "\n"))
			if got != want {
				t.Errorf("%s: %s, want %s", where, got, want)
			}
		}
		s.must(t, "shipper", "verify", "--full")
	})
}
