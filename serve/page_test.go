package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func withPage(o *Options) {
	o.Page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "page %s", r.URL.Path) })
}

// The page needs no token, and a link of another site may lead to it; a name that is not the server's may not.
func TestPage(t *testing.T) {
	t.Parallel()
	crossSite := header("Sec-Fetch-Site", "cross-site")
	for name, s := range map[string]*running{"open": start(t, withPage), "tokens": start(t, withPage, withTokens(t))} {
		for _, path := range []string{"/", "/assets/a.js"} {
			for _, change := range []func(*http.Request){func(*http.Request) {}, crossSite} {
				if resp, body := s.ask(t, http.MethodGet, path, change); resp.StatusCode != 200 || body != "page "+path {
					t.Errorf("%s %s: %d %s", name, path, resp.StatusCode, body)
				}
			}
			if resp, body := s.ask(t, http.MethodPost, path, crossSite); resp.StatusCode != 403 {
				t.Errorf("%s POST %s: %d %s", name, path, resp.StatusCode, body)
			}
		}
		resp, body := s.ask(t, http.MethodGet, prefix+"labels", crossSite)
		if resp.StatusCode != 403 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		if strings.Contains(s.log.String(), `"level":"INFO","msg":"request","method":"GET","path":"/"`) {
			t.Error("the page's files are logged")
		}
	}
	if resp, body := start(t, withPage).ask(t, http.MethodGet, "/", host("evil.example")); resp.StatusCode != 403 {
		t.Errorf("another host: %d %s", resp.StatusCode, body)
	}
	if resp, body := start(t, withTokens(t)).ask(t, http.MethodGet, "/"); resp.StatusCode != 401 {
		t.Errorf("without a page: %d %s", resp.StatusCode, body)
	}
}

// A browser does not ask for a password in place of the page.
func TestPageChallenge(t *testing.T) {
	t.Parallel()
	s := start(t, withPage, withTokens(t))
	for site, want := range map[string]int{"": 2, "none": 2, "same-origin": 1} {
		resp, _ := s.ask(t, http.MethodGet, prefix+"labels", header("Sec-Fetch-Site", site))
		if got := resp.Header["Www-Authenticate"]; resp.StatusCode != 401 || len(got) != want || !strings.HasPrefix(got[0], "Bearer") {
			t.Errorf("%q: %d %q", site, resp.StatusCode, got)
		}
	}
}
