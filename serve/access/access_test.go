package access_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/serve/access"
)

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func entry(name, secret, services string) string {
	return "- {name: " + name + ", sha256: " + digest(secret) + ", services: " + services + "}\n"
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return file
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	tokens, err := access.Open(write(t, entry("shop", "s1", "[shop, 'web-*']")+entry("all", "s2", "['*']")+entry("alts", "s3", "['{a,b}']"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]access.Identity{
		"s1": {Token: "shop", Services: []string{"shop", "web-*"}},
		"s2": {Token: "all", Unrestricted: true},
		"s3": {Token: "alts", Services: []string{"{a,b}"}},
	} {
		if got, ok := tokens.Identify(secret); !ok || !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, %v", secret, got, ok)
		}
	}
	for _, secret := range []string{"", "s", "s11", digest("s1"), "S1"} {
		if got, ok := tokens.Identify(secret); ok || got.Globs() == nil || len(got.Globs()) > 0 {
			t.Errorf("%q is %+v", secret, got)
		}
	}
}

// The globs of an identity are nil only if it may read all services.
func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   access.Identity
		want []string
	}{
		{access.Identity{}, []string{}},
		{access.Identity{Services: []string{"shop", "web-*"}}, []string{"shop", "web-*"}},
		{access.Identity{Unrestricted: true}, nil},
	} {
		if diff := cmp.Diff(c.want, c.id.Globs()); diff != "" {
			t.Errorf("%+v: %s", c.id, diff)
		}
	}
	if id := access.FromContext(context.Background()); id.Unrestricted || id.Globs() == nil {
		t.Error("a context without an identity may read")
	}
	ctx := access.NewContext(context.Background(), access.Identity{Token: "x", Unrestricted: true})
	if id := access.FromContext(ctx); id.Token != "x" || id.Globs() != nil {
		t.Errorf("%+v", id)
	}
}

// A file that others may read, or whose text is not right, is an error with a hint where there is advice. No error has the secret.
func TestOpen(t *testing.T) {
	t.Parallel()
	good := entry("a", "s1", "[a]")
	for name, c := range map[string]struct {
		text   string
		mode   os.FileMode
		want   string // "" is no error
		advice string
	}{
		"owner":           {good, 0o600, "", ""},
		"owner reads":     {good, 0o400, "", ""},
		"group reads":     {good, 0o640, "its mode 0640", "chmod 600 "},
		"all read":        {good, 0o644, "its mode 0644", "chmod 600 "},
		"others write":    {good, 0o602, "its mode 0602", "chmod 600 "},
		"empty":           {"", 0o600, "no tokens", "name, sha256 and services"},
		"nested":          {strings.Repeat("[", 100_000), 0o600, "line 1: nested more than 1000 deep", "name, sha256 and services"},
		"a map":           {"tokens: []", 0o600, "not a YAML list", "name, sha256 and services"},
		"unknown key":     {"- {name: a, secret: hunter2}", 0o600, "not a YAML list", "docs/serve.md"},
		"no name":         {"- {sha256: " + digest("x") + ", services: [a]}", 0o600, "token 1: its name", ""},
		"name":            {entry("'a b'", "x", "[a]"), 0o600, "token 1: its name", ""},
		"secret":          {"- {name: a, sha256: hunter2, services: [a]}", 0o600, "token a: sha256 is not", "sha256sum"},
		"short":           {"- {name: a, sha256: 'abcd', services: [a]}", 0o600, "token a: sha256 is not", "sha256sum"},
		"empty secret":    {entry("a", "", "[a]"), 0o600, "token a: sha256 is that of an empty text", ""},
		"no services":     {entry("a", "x", "[]"), 0o600, "token a: no services", "['*']"},
		"glob":            {entry("a", "x", "['[']"), 0o600, `token a: "[" is not`, ""},
		"empty glob":      {entry("a", "x", "['']"), 0o600, `token a: "" is not`, ""},
		"same name":       {good + entry("a", "s2", "[a]"), 0o600, "token a: the name is used twice", ""},
		"same secret":     {good + entry("b", "s1", "[a]"), 0o600, "token b: token a has the same sha256", ""},
		"longer than all": {strings.Repeat("#", 5<<20), 0o600, "larger than", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, c.text, c.mode)
			tokens, err := access.Open(file)
			if c.want == "" {
				if err != nil || tokens.Len() != 1 {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "cannot read tokens of "+file+": ") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if !strings.Contains(hint.Of(err), c.advice) || strings.Contains(hint.Text(err), "hunter2") {
				t.Errorf("%s", hint.Text(err))
			}
		})
	}
	if _, err := access.Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if _, err := access.Open(t.TempDir()); err == nil {
		t.Error("a directory is accepted")
	}
}

// Reload takes the new tokens, and keeps the old ones if the file is not right.
func TestReload(t *testing.T) {
	t.Parallel()
	file := write(t, entry("a", "s1", "[a]"), 0o600)
	tokens, err := access.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	known := func() string {
		var all []string
		for _, secret := range []string{"s1", "s2"} {
			if id, ok := tokens.Identify(secret); ok {
				all = append(all, secret+"="+id.Token)
			}
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		text string
		ok   bool
		want string
	}{
		{entry("b", "s2", "[a]"), true, "s2=b"},
		{"- {", false, "s2=b"},
		{"", false, "s2=b"},
		{entry("a", "s1", "[a]") + entry("b", "s2", "[a]"), true, "s1=a s2=b"},
	} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tokens.Reload(); (err == nil) != step.ok || known() != step.want {
			t.Errorf("%q: %v, %s", step.text, err, known())
		}
	}
}

func TestPresented(t *testing.T) {
	t.Parallel()
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	for _, c := range []struct {
		authorization []string
		cookie        string
		want          string
		header        bool
	}{
		{nil, "", "", false},
		{[]string{"Bearer s1"}, "", "s1", true},
		{[]string{"bearer  s1 "}, "", "s1", true},
		{[]string{basic("anyone", "s1")}, "", "s1", true},
		{[]string{basic("", "s:1")}, "", "s:1", true},
		{[]string{"Basic s1"}, "", "", true},
		{[]string{"Digest s1"}, "", "", true},
		{[]string{""}, "", "", true},
		{[]string{"Bearer s1", "Bearer s2"}, "", "", true},
		{[]string{"Bearer " + strings.Repeat("x", 2000)}, "", "", true},
		{nil, "logstow=czE", "s1", false},
		{nil, "__Host-logstow=czE", "s1", false},
		{nil, "logstow=!", "", false},
		{[]string{"Bearer s2"}, "logstow=czE", "s2", true},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = c.authorization
		if c.cookie != "" {
			r.Header.Set("Cookie", c.cookie)
		}
		if got, header := access.Presented(r); got != c.want || header != c.header {
			t.Errorf("%q %q: %q, %v", c.authorization, c.cookie, got, header)
		}
	}
}

// What a login sets is what the browser presents; a script cannot read it, other sites do not send it.
func TestCookie(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		w := httptest.NewRecorder()
		access.SetCookie(w, "s;1 ü", secure)
		c := w.Result().Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secure || c.Path != "/" || c.MaxAge != 0 || c.Domain != "" {
			t.Errorf("%v", c)
		}
		if secure != strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("secure %v: %s", secure, c.Name)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(c)
		if got, header := access.Presented(r); got != "s;1 ü" || header {
			t.Errorf("%q, %v", got, header)
		}
		w = httptest.NewRecorder()
		access.ClearCookie(w, secure)
		if cleared := w.Result().Cookies()[0]; cleared.Name != c.Name || cleared.MaxAge >= 0 || cleared.Value != "" {
			t.Errorf("%v", cleared)
		}
	}
}

// Identities have one scope if they may read the same.
func TestScope(t *testing.T) {
	t.Parallel()
	all := map[string]access.Identity{
		"all": {Unrestricted: true}, "nothing": {}, "shop": {Services: []string{"shop"}}, "two": {Services: []string{"shop", "web"}},
		"joined": {Services: []string{"shop\" \"web"}}, "glob": {Services: []string{"*"}}, "comma": {Services: []string{"shop,web"}},
	}
	names := map[string]string{}
	for name, i := range all {
		if other := names[i.Scope()]; other != "" {
			t.Errorf("%s and %s have the scope %s", name, other, i.Scope())
		}
		names[i.Scope()] = name
	}
	for _, same := range []access.Identity{{Token: "x", Services: []string{"web", "shop"}}, {Services: []string{"shop", "web", "shop"}}} {
		if names[same.Scope()] != "two" {
			t.Errorf("%v has another scope: %s", same, same.Scope())
		}
	}
}
