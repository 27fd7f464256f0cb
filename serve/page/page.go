// Package page serves the web page of logq serve. Its files are the same for everyone and contain no logs: the page in the browser
// requests them from the API.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// static contains the assets, and index.html, which refers to them as {assets}NAME.
//
//go:embed static
var static embed.FS

// policy allows only the files and the API of the server: no inline scripts or styles, and no other hosts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// file is a file to send, with its media type.
type file struct {
	mediaType   string
	plain, gzip []byte
}

// Page is the handler of / and of /assets/. It is safe for concurrent use.
type Page struct {
	index  file
	prefix string // of the paths of assets: /assets/HASH/, with a hash of all assets
	assets map[string]file
}

// New reads the embedded files.
func New() (*Page, error) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	return newPage(files)
}

func newPage(files fs.FS) (*Page, error) {
	p := &Page{assets: map[string]file{}}
	sum := sha256.New()
	var index string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if name == "index.html" {
			index = string(data)
			return nil
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
		if p.assets[name], err = newFile(name, data); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the files of the page: %w", err)
	}
	p.prefix = "/assets/" + hex.EncodeToString(sum.Sum(nil))[:16] + "/"
	index = strings.Replace(index, "    <!-- modules -->\n", p.preloads(index), 1)
	index = strings.ReplaceAll(index, "{assets}", p.prefix)
	p.index, err = newFile("index.html", []byte(index))
	return p, err
}

// staticImport matches an import of another module, which a browser loads before the module runs. A module that is imported by a call
// is loaded when it is needed.
var staticImport = regexp.MustCompile(`(?m)^import [^;]*?from '(\.\.?/[^']+)';$`) //nolint:gochecknoglobals // a constant

// preloads returns links to the modules that those of index import, directly or not, and that index does not name, so that a browser
// requests all at once.
func (p *Page) preloads(index string) string {
	var links strings.Builder
	needed := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if needed[name] {
			return
		}
		needed[name] = true
		for _, m := range staticImport.FindAllSubmatch(p.assets[name].plain, -1) {
			visit(path.Join(path.Dir(name), string(m[1])))
		}
	}
	for name := range p.assets {
		if path.Ext(name) == ".js" && strings.Contains(index, "{assets}"+name) {
			visit(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if !strings.Contains(index, "{assets}"+name) {
			fmt.Fprintf(&links, "    <link rel=\"modulepreload\" href=\"{assets}%s\" />\n", name)
		}
	}
	return links.String()
}

func newFile(name string, data []byte) (file, error) {
	f := file{mediaType: mime.TypeByExtension(path.Ext(name)), plain: data}
	switch path.Ext(name) { // the media types of the system may differ
	case ".js":
		f.mediaType = "text/javascript; charset=utf-8"
	case ".md":
		f.mediaType = "text/plain; charset=utf-8"
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return f, err
	}
	if _, err := w.Write(data); err != nil {
		return f, err
	}
	if err := w.Close(); err != nil {
		return f, err
	}
	f.gzip = zipped.Bytes()
	return f, nil
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.URL.Path == "/" {
		header.Set("Cache-Control", "no-cache")
		p.index.send(w, r)
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, p.prefix)
	f, known := p.assets[name]
	if !ok || !known {
		header.Set("Cache-Control", "no-store")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	f.send(w, r)
}

// send responds with a file, compressed if the client accepts gzip.
func (f *file) send(w http.ResponseWriter, r *http.Request) {
	header, body := w.Header(), f.plain
	header.Set("Content-Type", f.mediaType)
	header.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = f.gzip
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}
