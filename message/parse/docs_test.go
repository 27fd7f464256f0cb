package parse_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of formats in docs/fields.md has the names of the fields that lines of each format
// have, and no others.
func TestDocumentedNames(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/fields.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]*)`")
	names := func(text string) (all []string) {
		for _, q := range quoted.FindAllStringSubmatch(text, -1) {
			all = append(all, strings.Fields(q[1])...)
		}
		return all
	}
	shared := names(regexp.MustCompile(`The shared names.*`).FindString(string(page)))
	if len(shared) != 11 {
		t.Fatalf("shared names %q", shared)
	}
	for row, formats := range map[string][]func(*writer){
		"common and combined (Apache, nginx)": {(*writer).common, (*writer).combined, (*writer).combinedio},
		"ingress-nginx":                       {(*writer).ingress},
		"Envoy's default":                     {(*writer).envoy},
		"HAProxy HTTP":                        {(*writer).haproxy},
		"AWS ALB":                             {(*writer).alb},
		"klog (Kubernetes)":                   {(*writer).klog},
	} {
		cells := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + ` \| (.*) \| (.*) \|$`).FindStringSubmatch(string(page))
		if cells == nil {
			t.Errorf("no row %q", row)
			continue
		}
		own, without, _ := strings.Cut(cells[1], "; no ")
		want := map[string]bool{"host": true, "request": true} // the text below the table has these
		for _, name := range append(slices.Clone(shared), names(own)...) {
			want[name] = true
		}
		for _, name := range names(without) {
			delete(want, name)
		}
		if cells[2] == "–" {
			delete(want, "duration")
		}
		if strings.HasPrefix(own, "instead ") {
			want = map[string]bool{"pod": true, "ready": true} // of the message
			for _, name := range names(own) {
				want[name] = true
			}
		}
		if row == "Envoy's default" { // the test writes ordinary requests only
			delete(want, "host")
			delete(want, "request")
			delete(want, "query")
		}
		got := map[string]bool{}
		for _, write := range formats {
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 500 {
				w := &writer{Rand: rnd, escaped: func(text string) string { return text }}
				write(w)
				for _, field := range w.want {
					name, _, _ := strings.Cut(field, "=")
					got[name] = true
				}
			}
		}
		for _, name := range []string{"app", "pid"} { // of a header of syslog
			delete(got, name)
		}
		delete(got, "rt") // named by the line
		delete(got, "urt")
		if row == "ingress-nginx" { // the test writes more in front of its lines than it does
			delete(got, "vhost")
			delete(got, "port")
			delete(got, "ident")
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s: %s", row, diff)
		}
	}
}
