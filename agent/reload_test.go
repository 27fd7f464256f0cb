package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/input/files"
	"logstow/input/kinds"
	"logstow/input/multiline"
	"logstow/input/stdin"
	"logstow/internal/test/await"
	"logstow/internal/test/storetest"
	"logstow/logmetrics"
	"logstow/store"
	"logstow/store/local"
)

// patience is how long tests wait for what takes moments, unless the machine is busy with other things.
const patience = 2 * time.Minute

// world is a directory with log files, buffer and stores, and the settings of a shipper of it.
type world struct {
	t        *testing.T
	dir      string
	settings Settings
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir()}
	w.settings = Settings{
		Service: "web", Stores: w.stores("s"), Inputs: []config.Input{w.files("a.log")},
		Settings: config.Settings{
			Instance:      "i",
			FlushInterval: 10 * time.Millisecond, FlushSize: 1 << 20, Width: time.Hour, DrainTimeout: patience,
			BufferDir: w.path("buffer"), BufferSize: 64 << 20, OnLostPositions: buffer.RereadLost,
		},
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) stores(names ...string) (s Stores) {
	for _, name := range names {
		s.All = append(s.All, w.path(name))
	}
	return s
}

// files is an input of a file, which is read from its start.
func (w *world) files(name string) config.Input {
	return config.Input{
		Common: config.Common{Service: "web", Multiline: &multiline.Options{}}, FromStart: true,
		Spec: &files.Spec{Paths: []string{w.path(name)}, Name: strings.TrimSuffix(name, ".log")},
	}
}

func (w *world) append(name, text string) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// stored is the text of a store.
func (w *world) stored(name string) string {
	w.t.Helper()
	st, err := local.Open(w.t.Context(), w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := storetest.Text(w.t.Context(), st.Blobs())
	if err := errors.Join(err, st.Close()); err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// open opens store, buffer and uploader of a shipper that does not run.
func (w *world) open() *pipeline {
	w.t.Helper()
	p := newPipeline(w.settings, Options{Log: slog.New(slog.DiscardHandler), Getenv: noEnv})
	st, err := p.opened.open(w.t.Context(), p.Stores.All[0])
	if err == nil {
		err = p.openBuffer(w.t.Context())
	}
	if err == nil {
		err = p.openUploader(st, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := errors.Join(p.buffer.Close(), p.opened.close()); err != nil {
			w.t.Error(err)
		}
	})
	return p
}

// start runs a shipper until stop, which returns its log and error.
func (w *world) start() (p *pipeline, stop func() (log string, err error)) {
	p, _, stop = w.startLogged()
	return p, stop
}

// startLogged is start with the log so far.
func (w *world) startLogged() (p *pipeline, log *logBuffer, stop func() (log string, err error)) {
	log = &logBuffer{}
	p = newPipeline(w.settings, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Getenv: noEnv})
	ctx, cancel := context.WithCancelCause(w.t.Context())
	ended := make(chan error, 1)
	go func() {
		err := p.openAndRun(ctx)
		ended <- err
		for ctx.Err() == nil { // it ended by itself: a reload does not wait
			select {
			case <-p.reloads:
			case <-ctx.Done():
			}
		}
	}()
	stop = sync.OnceValues(func() (string, error) {
		cancel(ErrStopped)
		err := <-ended
		return log.String(), err
	})
	w.t.Cleanup(func() { _, _ = stop() })
	return p, log, stop
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// reload applies settings. It returns when that has ended.
func reload(p *pipeline, s, next Settings) {
	p.reloads <- s
	p.reloads <- next
}

// A reload that is rejected for an input changes no store, and the inputs are read as before.
func TestRejectedReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append("a.log", "one\n")
	p, stop := w.start()
	again := w.settings
	again.Stores = w.stores("other")
	changed, invalid := w.files("a.log"), w.files("b.log")
	changed.SourcePrefix = "changed/"
	invalid.Spec.(*files.Spec).Exclude = []string{"["}
	again.Inputs = []config.Input{changed, invalid}
	reload(p, again, w.settings)
	w.append("a.log", "two\n")
	log, err := stop()
	if err != nil || !strings.Contains(log, "reload rejected") || strings.Contains(log, "store changed") {
		t.Errorf("%v\n%s", err, log)
	}
	if text := w.stored("s"); strings.Count(text, "one") != 1 || strings.Count(text, "two") != 1 || strings.Contains(text, "changed/") {
		t.Errorf("stored: %q", text)
	}
	if _, err := os.Stat(w.path("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other store was created: %v", err)
	}
}

// A reload is rejected for its log metrics.
func TestRejectedLogMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, stop := w.start()
	again := w.settings
	again.LogMetrics = make([]logmetrics.Spec, logmetrics.MaxMetrics+1)
	reload(p, again, w.settings)
	log, err := stop()
	if err != nil || !strings.Contains(log, "reload rejected") || !strings.Contains(log, "log metrics, at most") {
		t.Errorf("%v\n%s", err, log)
	}
}

// The error of a store that cannot be opened names it, and no store is changed.
func TestChangedStoreWithoutCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	getenv := func(name string) string {
		return map[string]string{"AZURE_STORAGE_ACCOUNT": "one", "AZURE_STORAGE_KEY": "a2V5"}[name]
	}
	p := newPipeline(w.settings, Options{Log: slog.New(slog.DiscardHandler), Getenv: getenv})
	before := p.Stores
	p.opened.configure(before)
	p.Stores = Stores{All: []string{"azblob://logs?account=two"}}
	err := p.changeStores(t.Context(), before)
	if !errors.Is(err, store.ErrAccessDenied) || !strings.HasPrefix(err.Error(), "store azblob://logs?account=two: ") {
		t.Errorf("error %v", err)
	}
	if !p.opened.configured.equal(before) {
		t.Errorf("changed to %v", p.opened.configured)
	}
}

// A reload changes inputs and stores.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append("a.log", "one\n")
	w.append("b.log", "two\n")
	p, stop := w.start()
	again := w.settings
	again.Stores = w.stores("other")
	again.Inputs = []config.Input{w.files("b.log")}
	reload(p, again, again)
	log, err := stop()
	if err != nil || !strings.Contains(log, "configuration reloaded") {
		t.Errorf("%v\n%s", err, log)
	}
	if text := w.stored("other"); strings.Count(text, "two") != 1 {
		t.Errorf("stored: %q", text)
	}
	if n, ok := ReadNote(w.settings.BufferDir); !ok || n.Store != again.Stores.String() || !n.Drained {
		t.Errorf("%+v", n)
	}
}

// Files of a store that a reload adds are not read as logs by an input that stays.
func TestReloadSkipsNewStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append("a.log", "one\n")
	in := w.files("a.log")
	in.Spec.(*files.Spec).Paths = []string{w.path("**/*.log")}
	if err := os.Mkdir(w.path("other"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.settings.Inputs = []config.Input{in}
	p, stop := w.start()
	again := w.settings
	again.Stores = w.stores("other")
	reload(p, again, again)
	w.append("other/later.log", "two\n")
	w.append("b.log", "three\n") // is found with it
	log, err := stop()
	if err := errors.Join(err, os.Remove(w.path("other/later.log"))); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if text := w.stored("other"); strings.Contains(text, "two") || !strings.Contains(text, "three") {
		t.Errorf("stored: %q\n%s", text, log)
	}
}

// An input that ends by itself while a reload waits for another one has ended: the run does not
// wait for it again, and ends with its error.
func TestInputEndsDuringReload(t *testing.T) {
	t.Parallel()
	failure := errors.New("input failed")
	stays, leaves := &running{spec: config.Input{Spec: stdin.Spec{}}, err: failure, give: func() {}}, &running{spec: config.Input{Spec: &kinds.HTTP{}}, release: func() {}, give: func() {}}
	leaving, cancel := context.WithCancel(t.Context())
	stays.cancel, leaves.cancel = func() {}, cancel
	s := Settings{Inputs: []config.Input{stays.spec}}
	p := newPipeline(s, Options{Log: slog.New(slog.DiscardHandler), Getenv: noEnv})
	p.running = []*running{stays, leaves}
	go func() {
		<-leaving.Done()
		p.ended <- stays
		p.ended <- leaves
	}()
	p.reload(t.Context(), s)
	if len(p.running) > 0 {
		t.Fatalf("%d inputs count as running", len(p.running))
	}
	if err := p.read(t.Context()); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}

// An input that fails while others run is logged at once: the run's error comes when they have ended.
func TestInputFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("accept on 127.0.0.1:514: closed")
	fails := &running{spec: config.Input{Spec: stdin.Spec{}}, err: failure, give: func() {}, cancel: func() {}}
	stays := &running{spec: config.Input{Spec: &kinds.HTTP{}}, give: func() {}, cancel: func() {}}
	log := &logBuffer{}
	p := newPipeline(Settings{}, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Getenv: noEnv})
	p.running = []*running{stays, fails}
	ended := make(chan error, 1)
	go func() { ended <- p.read(t.Context()) }()
	p.ended <- fails
	await.Until(t, time.Minute, "the failure is logged", func() bool {
		return strings.Contains(log.String(), "level=ERROR") && strings.Contains(log.String(), failure.Error())
	})
	p.ended <- stays
	if err := <-ended; !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}

// Of the inputs that a rejected reload stopped, each is opened again; one that cannot be opened fails
// the run when the others have ended.
func TestReopen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.BufferDir = ""
	p := newPipeline(w.settings, Options{Log: slog.New(slog.DiscardHandler), Getenv: noEnv})
	if err := p.openBuffer(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.buffer.Close(); err != nil {
			t.Error(err)
		}
	}()
	invalid := w.files("b.log")
	invalid.Spec.(*files.Spec).Exclude = []string{"["}
	ctx, cancel := context.WithCancel(t.Context())
	p.reopen(ctx, []*running{{spec: invalid, release: func() {}}, {spec: w.files("a.log"), release: func() {}}})
	if len(p.running) != 1 {
		t.Errorf("%d inputs run", len(p.running))
	}
	cancel()
	if err := p.read(ctx); err == nil || !strings.Contains(err.Error(), "not a valid pattern") {
		t.Errorf("got %v", err)
	}
}

// The status note keeps the current failure when the stores change.
func TestNoteOfChangedStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open()
	p.note.update(func(n *Note) { n.setError(errors.New("no route to host")) })
	var other sync.WaitGroup
	other.Go(func() { p.note.update(func(*Note) {}) }) // for the race detector
	before := p.Stores
	p.Stores = w.stores("other", "third")
	if err := p.changeStores(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	other.Wait()
	if !p.opened.configured.equal(p.Stores) {
		t.Errorf("expiries of %v are reported", p.opened.configured)
	}
	if n, ok := ReadNote(w.settings.BufferDir); !ok || n.Store != p.Stores.String() || n.Error != "no route to host" || n.Service != "web" {
		t.Errorf("%+v", n)
	}
}

// expiring is a store whose credential expires.
type expiring struct {
	store.Store
	end time.Time
}

func (e expiring) Expires() (time.Time, bool) { return e.end, !e.end.IsZero() }
func (e expiring) String() string             { return "expiring" }

// The expiry of a credential is reported while its store is configured.
func TestExpiries(t *testing.T) {
	t.Parallel()
	s := newStores(slog.New(slog.DiscardHandler), noEnv, nil)
	const name = "azblob://logs?account=one"
	end := time.Now()
	s.opened[name] = expiring{end: end}
	s.opened["/plain"] = storetest.OpenLocal(t)
	for _, c := range []struct {
		configured Stores
		want       int
	}{
		{Stores{}, 0},
		{Stores{All: []string{name, "/plain", "/unopened"}}, 1},
		{Stores{All: []string{"/plain"}, Own: map[string][]string{"web": {name}}}, 1},
		{Stores{All: []string{"/plain"}}, 0},
	} {
		s.configure(c.configured)
		if got := s.expiries(); len(got) != c.want || c.want > 0 && !got["expiring"].Equal(end) {
			t.Errorf("%v: %v", c.configured, got)
		}
	}
	s.opened[name] = expiring{}
	s.configure(Stores{All: []string{name}})
	if got := s.expiries(); len(got) > 0 {
		t.Errorf("unknown: %v", got)
	}
}
