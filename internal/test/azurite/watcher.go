package azurite

import (
	"bytes"
	"regexp"
	"sync"
)

// listening is what Azurite prints for each service once it takes connections.
const listening = `Azurite (Blob|Table) service is successfully listening at (http\S+)\n`

// maxTail bounds what is kept of Azurite's output for error messages.
const maxTail = 8 << 10

// A watcher reads Azurite's output: it closes ready once both services have printed their
// addresses, and keeps the end of the output.
type watcher struct {
	// blob and table are set when ready is closed.
	ready       chan struct{}
	blob, table string

	pattern *regexp.Regexp
	mu      sync.Mutex
	out     []byte
}

func newWatcher() *watcher {
	return &watcher{ready: make(chan struct{}), pattern: regexp.MustCompile(listening)}
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(w.out, p...)
	if w.blob == "" || w.table == "" {
		w.search()
	}
	if extra := len(w.out) - maxTail; extra > 0 {
		w.out = append(w.out[:0], w.out[extra:]...)
	}
	return len(p), nil
}

func (w *watcher) search() {
	for _, m := range w.pattern.FindAllSubmatch(w.out, -1) {
		if string(m[1]) == "Blob" {
			w.blob = string(m[2])
		} else {
			w.table = string(m[2])
		}
	}
	if w.blob != "" && w.table != "" {
		close(w.ready)
	}
}

// tail is the end of the output.
func (w *watcher) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.TrimSpace(w.out))
}
