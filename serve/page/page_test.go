package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func newTestPage(t *testing.T) *Page {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(t *testing.T, p *Page, method, path, encoding string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The page names assets that exist, compressed or not; they never change, and the page is asked for again.
func TestAssets(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	resp := ask(t, p, "GET", "/", "")
	index := body(t, resp)
	if resp.Header.Get("Cache-Control") != "no-cache" || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%v", resp.Header)
	}
	urls := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(index, -1)
	if len(urls) < 25 || strings.Contains(index, "{assets}") {
		t.Fatalf("%d assets in %s", len(urls), index)
	}
	for _, url := range urls {
		plain, zipped := ask(t, p, "GET", url[1], ""), ask(t, p, "GET", url[1], "br, gzip")
		if plain.StatusCode != 200 || !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") || plain.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", url[1], plain.StatusCode, plain.Header)
		}
		if path.Ext(url[1]) == ".js" && plain.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %v", url[1], plain.Header)
		}
		if zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v", url[1], zipped.Header)
		}
		text := body(t, zipped)
		r, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := io.ReadAll(r); err != nil || string(whole) != body(t, plain) {
			t.Errorf("%s differs compressed: %v", url[1], err)
		}
	}
	head := ask(t, p, "HEAD", "/", "")
	if text := body(t, head); head.StatusCode != 200 || text != "" {
		t.Errorf("HEAD: %d %s", head.StatusCode, text)
	}
	for _, missing := range []string{"/assets/", "/assets/app.js", p.prefix + "none.js", p.prefix + "../page.go", p.prefix + "index.html"} {
		resp := ask(t, p, "GET", missing, "")
		if text := body(t, resp); resp.StatusCode != 404 || strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %s", missing, resp.StatusCode, text)
		}
	}
}

// Another content has other addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	of := func(text string) string {
		p, err := newPage(fstest.MapFS{"index.html": {Data: []byte("{assets}")}, "a.js": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return p.prefix
	}
	one, again, other := of("1"), of("1"), of("2")
	if one == other || one != again {
		t.Error("the hash is not that of the content")
	}
}

// Modules that others import are requested at once, those that are imported by a call when they are needed.
func TestPreloads(t *testing.T) {
	t.Parallel()
	p, err := newPage(fstest.MapFS{
		"index.html": {Data: []byte("<script src=\"{assets}a.js\">\n    <!-- modules -->\n")},
		"a.js":       {Data: []byte("import { b } from './b.js';\nconst later = () => import('./later.js');\n")},
		"b.js":       {Data: []byte("import {\n  a,\n  c } from './vendor/c.js';\n")},
		"later.js":   {Data: []byte("import './more.js';\n")}, "more.js": {}, "vendor/c.js": {Data: []byte("import { a } from '../a.js';\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "    <link rel=\"modulepreload\" href=\"" + p.prefix + "b.js\" />\n    <link rel=\"modulepreload\" href=\"" + p.prefix + "vendor/c.js\" />\n"
	if index := string(p.index.plain); !strings.HasSuffix(index, want) || strings.Count(index, "modulepreload") != 2 {
		t.Errorf("%s, want %s", index, want)
	}
}

// No script or style is in the page itself, and the policy allows none.
func TestPolicy(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	resp := ask(t, p, "GET", "/", "")
	index := body(t, resp)
	for _, inline := range []string{`(?i)<script[^>]*>\s*[^<\s]`, `(?i)<style`, `(?i)\sstyle=`, `(?i)\son[a-z]+=`, `(?i)javascript:`, `https?://`} {
		if found := regexp.MustCompile(inline).FindString(index); found != "" {
			t.Errorf("inline: %s", found)
		}
	}
	got := resp.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s has no %s", got, want)
		}
	}
	if strings.Contains(got, "unsafe") || resp.Header.Get("Referrer-Policy") != "no-referrer" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", resp.Header)
	}
}

// maxSize is the maximum of all scripts and styles, compressed, in bytes.
const maxSize = 170_000

// The page is small, its files are short, and they make no markup of text.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	size := 0
	for name := range p.assets {
		f := p.assets[name]
		if ext := path.Ext(name); ext != ".js" && ext != ".css" {
			continue
		}
		size += len(f.gzip)
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		if lines := bytes.Count(f.plain, []byte("\n")); lines > 500 {
			t.Errorf("%s has %d lines", name, lines)
		}
		for _, dangerous := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "dangerouslySet", "eval(", "new Function", "srcdoc"} {
			if bytes.Contains(f.plain, []byte(dangerous)) {
				t.Errorf("%s uses %s", name, dangerous)
			}
		}
	}
	if size > maxSize || size < 10_000 {
		t.Errorf("scripts and styles are %d bytes compressed, more than %d", size, maxSize)
	}
	t.Logf("%d bytes compressed", size)
}

// Modules import modules that exist.
func TestImports(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	imports := regexp.MustCompile(`(?m)^(?:import|\} from|import [^;]*? from) '([^']+)'|^import[^;]*from '([^']+)'`)
	n := 0
	for name := range p.assets {
		f := p.assets[name]
		for _, m := range imports.FindAllSubmatch(f.plain, -1) {
			target := string(m[1]) + string(m[2])
			n++
			if _, ok := p.assets[path.Join(path.Dir(name), target)]; !ok || !strings.HasPrefix(target, ".") {
				t.Errorf("%s imports %s", name, target)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d imports", n)
	}
}

// The vendored file is that of README.md, unchanged, and has its licences.
func TestVendored(t *testing.T) {
	t.Parallel()
	notes, err := fs.ReadFile(static, "static/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"htm-preact.js", "npm pack htm@3.1.1", "LICENSE-htm", "LICENSE-preact"} {
		if !bytes.Contains(notes, []byte(want)) {
			t.Errorf("README.md has no %s", want)
		}
	}
	vendored, err := fs.ReadFile(static, "static/vendor/htm-preact.js")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(vendored); !bytes.Contains(notes, []byte(hex.EncodeToString(sum[:])+"\n")) {
		t.Errorf("the digest of htm-preact.js is %x", sum)
	}
	for _, licence := range []string{"static/vendor/LICENSE-htm", "static/vendor/LICENSE-preact"} {
		if text, err := fs.ReadFile(static, licence); err != nil || len(text) < 500 {
			t.Errorf("%s: %v", licence, err)
		}
	}
}
