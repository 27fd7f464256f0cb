package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClasses follows retention classes from the configuration to what is left: a service
// without one, one with one, and one whose class is changed. What a segment was written
// with decides, not the present configuration.
func TestClasses(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		dir := t.TempDir()
		var lines strings.Builder
		for _, age := range []int{1, 10, 40} {
			fmt.Fprintf(&lines, "%s INFO %d days\n", time.Now().UTC().AddDate(0, 0, -age).Format(time.RFC3339), age)
		}
		path := func(name string) string { return filepath.Join(dir, name) }
		ship := func(n int, classOfWeb string) {
			t.Helper()
			config := "store: " + s.store + "\ninstance: pod\ninputs:\n"
			for service, class := range map[string]string{"api": `""`, "pay": "audit", "web": classOfWeb} {
				file := path(fmt.Sprintf("%s%d.log", service, n))
				if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				config += fmt.Sprintf("  - {files: %s, service: %s, class: %s}\n", file, service, class)
			}
			if err := os.WriteFile(path("shipper.yaml"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			s.must(t, "shipper", "run", "--once", "--config", path("shipper.yaml"))
		}
		ship(1, "trial")
		ship(2, "audit")

		// stored is what logq finds: service, class and age in days.
		stored := func() (all []string) {
			t.Helper()
			for line := range strings.Lines(string(s.must(t, "logq", "segments", "--from", "2000-01-01", "-o", "json"))) {
				var row struct {
					Name, Class string
					Start       time.Time
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				service, _, _ := strings.Cut(row.Name, "/")
				age := time.Since(row.Start).Round(24*time.Hour) / (24 * time.Hour)
				all = append(all, fmt.Sprintf("%s,%s,%d", service, row.Class, age))
			}
			slices.Sort(all)
			return all
		}
		want := func(what string) {
			t.Helper()
			if diff := cmp.Diff(strings.Fields(what), stored()); diff != "" {
				t.Errorf("segments: %s", diff)
			}
			s.must(t, "shipper", "verify", "--full")
		}
		want(`api,,1 api,,1 api,,10 api,,10 api,,40 api,,40
			pay,audit,1 pay,audit,1 pay,audit,10 pay,audit,10 pay,audit,40 pay,audit,40
			web,audit,1 web,audit,10 web,audit,40 web,trial,1 web,trial,10 web,trial,40`)

		out := string(s.must(t, "shipper", "retain", "--keep", "30d", "--class", "trial=5d"))
		if !strings.Contains(out, "kept 6 blobs, ") || !strings.Contains(out, "--class audit=DURATION deletes them") {
			t.Errorf("retain: %s", out)
		}
		want(`api,,1 api,,1 api,,10 api,,10
			pay,audit,1 pay,audit,1 pay,audit,10 pay,audit,10 pay,audit,40 pay,audit,40
			web,audit,1 web,audit,10 web,audit,40 web,trial,1`)

		s.must(t, "shipper", "reindex")
		s.must(t, "shipper", "retain", "--class", "audit=20d")
		want(`api,,1 api,,1 api,,10 api,,10
			pay,audit,1 pay,audit,1 pay,audit,10 pay,audit,10
			web,audit,1 web,audit,10 web,trial,1`)
		if got := s.all(t, "web"); strings.Count(got, "\n") != 3 {
			t.Errorf("web: %s", got)
		}
	})
}
