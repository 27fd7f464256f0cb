package serve

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// endpoints are requests of each class.
var endpoints = []struct{ method, path string }{
	{http.MethodGet, "/loki/api/v1/query_range?query=shop"},
	{http.MethodPost, "/loki/api/v1/query_range"},
	{http.MethodGet, "/loki/api/v1/query?query=shop"},
	{http.MethodGet, "/loki/api/v1/labels"},
	{http.MethodGet, "/loki/api/v1/label/service_name/values"},
	{http.MethodGet, "/loki/api/v1/series"},
	{http.MethodGet, "/loki/api/v1/tail?query=shop"},
	{http.MethodGet, "/loki/api/v1/index/stats"},
	{http.MethodGet, "/loki/api/v1/index/volume"},
	{http.MethodGet, "/loki/api/v1/index/volume_range"},
	{http.MethodGet, "/loki/api/v1/detected_labels"},
	{http.MethodGet, "/loki/api/v1/detected_fields"},
	{http.MethodGet, "/loki/api/v1/detected_field/status/values"},
	{http.MethodGet, "/loki/api/v1/patterns"},
	{http.MethodGet, "/loki/api/v1/drilldown-limits"},
	{http.MethodGet, "/loki/api/v1/format_query"},
	{http.MethodGet, "/loki/api/v1/status/buildinfo"},
	{http.MethodGet, "/loki/api/v1/none"},
	{http.MethodGet, "/metrics"},
	{http.MethodGet, "/"},
	{http.MethodGet, "/login"},
	{http.MethodPost, "/login"},
	{http.MethodPost, "/logout"},
	{http.MethodOptions, "/loki/api/v1/query_range"},
	{http.MethodDelete, "/loki/api/v1/query_range"},
}

// Without a token and with an unknown one, every endpoint has one and the same answer, whether it exists or not.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	want := ""
	for _, e := range endpoints {
		for name, change := range map[string]func(*http.Request){
			"none": func(*http.Request) {}, "bearer": bearer(noSecret), "basic": basic(noSecret), "empty": bearer(""), "prefix": bearer(shopSecret[:5]),
			"cookie": header("Cookie", "logstow=dW5rbm93bg"), "bad cookie": header("Cookie", "logstow=%"), "digest": header("Authorization", "Digest x"),
			"forwarded": header("X-Forwarded-User", "shop"), "name": basic("shop"), "login": form("token=" + noSecret),
		} {
			got := whole(s.ask(t, e.method, e.path, change))
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%s %s, %s:\n%s\nwant\n%s", e.method, e.path, name, got, want)
			}
		}
	}
	if !strings.HasPrefix(want, "401 Unauthorized\n") || !strings.Contains(want, `Bearer realm="logstow"`) || !strings.Contains(want, "Basic") {
		t.Error(want)
	}
	if resp, body := s.ask(t, http.MethodGet, "/ready"); resp.StatusCode != http.StatusOK || body != "ready\n" {
		t.Errorf("ready: %d %s", resp.StatusCode, body)
	}
	for _, line := range logged(t, s) {
		if line["token"] != "" || line["services"] != "" {
			t.Errorf("%v", line)
		}
	}
}

// A request for a service that the token may not read has the answer of one for a service that does not exist, byte for byte.
func TestOtherService(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	for _, e := range endpoints[:6] {
		path, _, _ := strings.Cut(e.path, "?")
		answer := func(service, secret string) string {
			if e.method == http.MethodPost {
				return whole(s.ask(t, e.method, path, bearer(secret), form("query="+service)))
			}
			return whole(s.ask(t, e.method, path+"?query="+service, bearer(secret)))
		}
		if got, want := answer("web", shopSecret), answer("nil", shopSecret); got != want || !strings.HasPrefix(got, "200") {
			t.Errorf("%s: another's service:\n%s\nnone:\n%s", path, got, want)
		}
		for service, secret := range map[string]string{"web": webSecret, "shop": allSecret} {
			if got := answer(service, secret); !strings.Contains(got, `["`+service+`"]`) {
				t.Errorf("%s: its own service %s: %s", path, service, got)
			}
		}
	}
}

// A token is accepted as a bearer and as the password of any user, as Grafana sends it.
func TestPresented(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	for _, change := range []func(*http.Request){bearer(shopSecret), basic(shopSecret)} {
		if resp, body := s.ask(t, http.MethodGet, prefix+"labels?query=shop", change); resp.StatusCode != http.StatusOK || !strings.Contains(body, `["shop"]`) {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	// A proxy's statements are not an identity.
	resp, body := s.ask(t, http.MethodGet, prefix+"labels?query=web", bearer(shopSecret), header("X-Scope-OrgID", "all"), header("X-Forwarded-User", "web"), header("X-WebAuth-User", "all"))
	if resp.StatusCode != http.StatusOK || strings.Contains(body, "web") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// A login sets a cookie that is the token's until the logout; the token itself is in no answer.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, proxy := range []bool{false, true} {
		s := start(t, withTokens(t), func(o *Options) { o.BehindProxy = proxy })
		resp, body := s.ask(t, http.MethodPost, "/login", form("token="+url.QueryEscape(shopSecret)))
		cookies := resp.Cookies()
		if resp.StatusCode != http.StatusNoContent || body != "" || len(cookies) != 1 {
			t.Fatalf("%d %s %v", resp.StatusCode, body, cookies)
		}
		c := cookies[0]
		if !c.HttpOnly || c.Secure != proxy || c.SameSite != http.SameSiteStrictMode {
			t.Errorf("%v", c)
		}
		with := header("Cookie", c.Name+"="+c.Value)
		if resp, body := s.ask(t, http.MethodGet, prefix+"labels?query=shop+web", with); resp.StatusCode != http.StatusOK || !strings.Contains(body, `["shop"]`) {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		if resp, _ := s.ask(t, http.MethodGet, prefix+"labels", with, header("Origin", "https://evil.example")); resp.StatusCode != http.StatusForbidden {
			t.Errorf("of another origin: %d", resp.StatusCode)
		}
		if resp, _ := s.ask(t, http.MethodGet, prefix+"labels", with, header("Sec-Fetch-Site", "cross-site")); resp.StatusCode != http.StatusForbidden {
			t.Errorf("of another site: %d", resp.StatusCode)
		}
		if resp, _ := s.ask(t, http.MethodPost, "/logout", with); resp.StatusCode != http.StatusNoContent || resp.Cookies()[0].MaxAge >= 0 {
			t.Errorf("logout: %d %v", resp.StatusCode, resp.Cookies())
		}
		if resp, _ := s.ask(t, http.MethodGet, "/login?token="+shopSecret); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("a token in the address: %d", resp.StatusCode)
		}
	}
}

// Without tokens, requests need a Host of this server, and must not be of another site or origin.
func TestBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.Hosts = []string{"logs.example", "named.example:80"} })
	port := s.Addr().String()[strings.LastIndex(s.Addr().String(), ":"):]
	for _, c := range []struct {
		name   string
		change []func(*http.Request)
		want   int
	}{
		{"as is", nil, 200},
		{"localhost", []func(*http.Request){host("localhost" + port)}, 200},
		{"localhost without port", []func(*http.Request){host("LOCALHOST.")}, 200},
		{"IPv6", []func(*http.Request){host("[::1]" + port)}, 200},
		{"127.1.2.3", []func(*http.Request){host("127.1.2.3")}, 200},
		{"given", []func(*http.Request){host("Logs.Example" + port)}, 200},
		{"given with port", []func(*http.Request){host("named.example" + port)}, 200},
		{"rebound", []func(*http.Request){host("evil.example" + port)}, 403},
		{"like localhost", []func(*http.Request){host("localhost.evil.example")}, 403},
		{"below localhost", []func(*http.Request){host("evil.localhost")}, 403},
		{"like a number", []func(*http.Request){host("127.0.0.1.evil.example")}, 403},
		{"another machine", []func(*http.Request){host("192.0.2.1")}, 403},
		{"any address", []func(*http.Request){host("0.0.0.0" + port)}, 403},
		{"forwarded", []func(*http.Request){host("evil.example"), header("X-Forwarded-Host", "localhost")}, 403},
		{"cross-site", []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}, 403},
		{"same site", []func(*http.Request){header("Sec-Fetch-Site", "same-origin")}, 200},
		{"typed", []func(*http.Request){header("Sec-Fetch-Site", "none")}, 200},
		{"own origin", []func(*http.Request){header("Origin", s.url)}, 200},
		{"another origin", []func(*http.Request){header("Origin", "http://evil.example")}, 403},
		{"another port", []func(*http.Request){header("Origin", "http://127.0.0.1:1")}, 403},
		{"null", []func(*http.Request){header("Origin", "null")}, 403},
		{"given origin", []func(*http.Request){header("Origin", "https://logs.example")}, 200},
		{"authorized origin", []func(*http.Request){header("Origin", "http://evil.example"), bearer("x")}, 403},
	} {
		for _, e := range []string{prefix + "labels", "/ready", "/metrics", "/none", prefix + "status/buildinfo"} {
			want := c.want
			if e == "/none" && want == 200 {
				want = 404
			}
			resp, body := s.ask(t, http.MethodGet, e, c.change...)
			if resp.StatusCode != want {
				t.Errorf("%s, %s: %d %s, want %d", c.name, e, resp.StatusCode, body, want)
			}
			for name := range resp.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s, %s: has %s", c.name, e, name)
				}
			}
		}
	}
}

// Every answer has the headers that protect browsers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	for path, change := range map[string]func(*http.Request){
		prefix + "labels": bearer(shopSecret), "/none": bearer(shopSecret), "/": bearer(noSecret), "/ready": host("x"), "/metrics": bearer(shopSecret),
		prefix + "labels?do=panic": bearer(shopSecret), prefix + "series": header("Sec-Fetch-Site", "cross-site"),
	} {
		resp, _ := s.ask(t, http.MethodGet, path, change)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// The origin of a websocket must be the server's, except with a token in a header, which a page of another site cannot send.
func TestWebsocketOrigin(t *testing.T) {
	t.Parallel()
	open, closed := start(t), start(t, withTokens(t))
	cookie := "logstow=" + "c2hvcC1zZWNyZXQtMQ" // shopSecret
	for name, c := range map[string]struct {
		s       *running
		headers map[string]string
		want    int
	}{
		"no origin":                {open, nil, 101},
		"own origin":               {open, map[string]string{"Origin": open.url}, 101},
		"another origin":           {open, map[string]string{"Origin": "http://evil.example"}, 403},
		"another port":             {open, map[string]string{"Origin": closed.url}, 403},
		"cross-site":               {open, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"no token":                 {closed, map[string]string{"Origin": closed.url}, 401},
		"unknown token":            {closed, map[string]string{"Authorization": "Bearer " + noSecret}, 401},
		"token":                    {closed, map[string]string{"Authorization": "Bearer " + shopSecret}, 101},
		"token of another origin":  {closed, map[string]string{"Authorization": "Bearer " + shopSecret, "Origin": "https://grafana.example"}, 101},
		"cookie":                   {closed, map[string]string{"Cookie": cookie, "Origin": closed.url}, 101},
		"cookie of another origin": {closed, map[string]string{"Cookie": cookie, "Origin": "https://evil.example"}, 403},
	} {
		headers := http.Header{}
		for name, value := range c.headers {
			headers.Set(name, value)
		}
		conn, status, err := c.s.dial(t, headers)
		if status != c.want || (err == nil) != (c.want == 101) {
			t.Errorf("%s: %d, %v", name, status, err)
		}
		if conn != nil {
			conn.CloseNow()
		}
	}
}
