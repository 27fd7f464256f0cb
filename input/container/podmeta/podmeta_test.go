package podmeta_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/heap"

	"go.uber.org/goleak"

	"logstow/input/container/podmeta"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testrand"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAPI is an API server with the pods of a node.
type fakeAPI struct {
	t testing.TB
	*httptest.Server
	pipes *inputtest.Pipes // nil if it has a socket

	mu      sync.Mutex
	version int
	pods    map[string]map[string]string // labels by NAMESPACE/POD
	events  []event
	oldest  int           // version below which a watch is expired
	changed chan struct{} // closed at every change
	drop    chan struct{} // closed to end all watches
	down    bool
	lag     time.Duration
	padding string
	lists   int
	denied  int
}

type event struct {
	version    int
	kind, text string
}

func newFakeAPI(t testing.TB) *fakeAPI {
	return startFakeAPI(t, nil)
}

// startFakeAPI starts a server that watchers reach through pipes, or through a socket if they are nil.
func startFakeAPI(t testing.TB, pipes *inputtest.Pipes) *fakeAPI {
	f := &fakeAPI{t: t, pipes: pipes, version: 10, pods: map[string]map[string]string{}, changed: make(chan struct{}), drop: make(chan struct{})}
	f.Server = httptest.NewUnstartedServer(f)
	if pipes != nil {
		_ = f.Listener.Close()
		f.Listener = pipes
	}
	f.Start()
	t.Cleanup(func() {
		f.change(func() { close(f.drop); f.drop = make(chan struct{}) })
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeAPI) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeAPI) object(key string, labels map[string]string, version int) string {
	namespace, name, _ := strings.Cut(key, "/")
	text, err := json.Marshal(map[string]any{"kind": "Pod", "metadata": map[string]any{
		"name": name, "namespace": namespace, "resourceVersion": fmt.Sprint(version), "labels": labels,
		"annotations": map[string]string{"note": "n of " + name, "unused": f.padding}, "managedFields": []any{map[string]any{"f:x": f.padding}},
	}})
	if err != nil {
		f.t.Error(err)
	}
	return string(text)
}

// set creates or changes a pod; no labels delete it.
func (f *fakeAPI) set(key string, labels map[string]string) {
	f.change(func() {
		f.version++
		kind := "MODIFIED"
		switch _, ok := f.pods[key]; {
		case labels == nil:
			kind = "DELETED"
			delete(f.pods, key)
		case !ok:
			kind = "ADDED"
		}
		if labels != nil {
			f.pods[key] = labels
		}
		f.events = append(f.events, event{f.version, kind, f.object(key, labels, f.version)})
	})
}

// endWatches drops the connections of all watches.
func (f *fakeAPI) endWatches() { f.change(func() { close(f.drop); f.drop = make(chan struct{}) }) }

// expire makes all watches begin with a list again.
func (f *fakeAPI) expire() { f.change(func() { f.oldest, f.events = f.version+1, nil; f.version++ }) }

func (f *fakeAPI) setDown(down bool) { f.change(func() { f.down = down }) }

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	down, lag, drop, query := f.down, f.lag, f.drop, r.URL.Query()
	if r.URL.Path != "/api/v1/pods" || query.Get("fieldSelector") != "spec.nodeName=node-1" || r.Header.Get("Authorization") != "Bearer secret" {
		f.denied++
	}
	f.mu.Unlock()
	time.Sleep(lag)
	if down {
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
		return
	}
	if query.Get("watch") == "true" {
		f.watch(w, r, drop)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	keys := make([]string, 0, len(f.pods))
	for key := range f.pods {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	next := ""
	if end := from + limit; end < len(keys) {
		next, keys = fmt.Sprint(end), keys[from:end]
	} else {
		keys = keys[from:]
	}
	fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":"%d","continue":"%s"},"items":[`, f.version, next)
	for i, key := range keys {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, f.object(key, f.pods[key], f.version))
	}
	fmt.Fprint(w, "]}\n")
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, drop <-chan struct{}) {
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.WriteHeader(http.StatusOK)
	for {
		f.mu.Lock()
		expired, changed, lag := at < f.oldest, f.changed, f.lag
		var send []event
		for _, e := range f.events {
			if e.version > at {
				send = append(send, e)
				at = e.version
			}
		}
		f.mu.Unlock()
		time.Sleep(lag)
		if expired {
			fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}`+"\n")
			return
		}
		for _, e := range send {
			fmt.Fprintf(w, `{"type":"%s","object":%s}`+"\n", e.kind, e.text)
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`+"\n", at)
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-drop:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

// patience is how long a test waits for what takes no time, and long longer than that: records wait as long for
// pods, so that waiting for one that does not come fails a test.
const patience, long = time.Minute, 3 * time.Minute

// run runs a watcher of the fake server until the test ends, and returns the attributes that records of a source get.
func run(t testing.TB, f *fakeAPI, change func(*podmeta.Options)) (of func(source string) string) {
	t.Helper()
	_, of = watch(t, f, change)
	return of
}

func watch(t testing.TB, f *fakeAPI, change func(*podmeta.Options)) (w *podmeta.Watcher, of func(source string) string) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := podmeta.Options{Server: f.URL, TokenFile: token, Node: "node-1", Labels: []string{"app", "tier"}, Annotations: []string{"note"}}
	if change != nil {
		change(&opts)
	}
	w, err := podmeta.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	w.SetWaits(long, long)
	if f.pipes != nil {
		w.SetDial(f.pipes.Dial)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	p := w.Processor(nil)
	return w, func(source string) string {
		r := record.Record{Source: source}
		if !p.Process("s", &r) {
			t.Error("dropped")
		}
		if r.Source != source {
			t.Errorf("source %s is now %s", source, r.Source)
		}
		return string(r.Attributes)
	}
}

// becomes waits until records of a source get attributes.
func becomes(t testing.TB, of func(string) string, source, want string) {
	t.Helper()
	await.Until(t, patience, source+" has "+want, func() bool { return of(source) == want })
}

// added are the attributes of a pod with these labels.
func added(pod, app, tier string) string {
	if app != "" {
		app = `"k8s.pod.label.app":"` + app + `",`
	}
	return `{"resource":{"k8s.pod.annotation.note":"n of ` + pod + `",` + app + `"k8s.pod.label.tier":"` + tier + `"}}`
}

// soon calls a function that must not wait for a pod.
func soon(t testing.TB, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it waits")
	}
}

func labels(app string) map[string]string {
	return map[string]string{"app": app, "tier": "web", "other": "x"}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.set("shop/a", labels("cart"))
	f.set("shop/b", map[string]string{"tier": "x"})
	w, of := watch(t, f, func(o *podmeta.Options) { o.SourcePrefix = "node/" })
	// The first record waits for the list.
	for from, want := range map[string]string{
		"node/shop/a/nginx/stdout": added("a", "cart", "web"),
		"node/shop/a/nginx/stderr": added("a", "cart", "web"),
		"node/shop/b/c":            added("b", "", "x"),
		"plain.log":                "",
	} {
		for range 2 {
			if got := of(from); got != want {
				t.Errorf("%s: %s, want %s", from, got, want)
			}
		}
	}
	// Attributes of other origin stay.
	r := record.Record{Source: "node/shop/b/c", Attributes: []byte(`{"a":1,"resource":{"k8s.pod.label.tier":"own","z":1}}`)}
	w.Processor(nil).Process("s", &r)
	if want := `{"$cut":1,"a":1,"resource":{"k8s.pod.annotation.note":"n of b","k8s.pod.label.tier":"own","z":1}}`; string(r.Attributes) != want {
		t.Errorf("%s, want %s", r.Attributes, want)
	}
	// One that waits for a pod gets it as soon as it is there; one that never comes holds up once.
	time.AfterFunc(100*time.Millisecond, func() { f.set("shop/new", labels("new")) })
	if got := of("node/shop/new/c"); got != added("new", "new", "web") {
		t.Error(got)
	}
	const wait = time.Second
	w.SetWaits(wait, long)
	begun := time.Now()
	soon(t, func() { of("node/shop/never/c") })
	if waited := time.Since(begun); waited < wait {
		t.Errorf("waited %v", waited)
	}
	w.SetWaits(long, long)
	soon(t, func() {
		for range 100 {
			of("node/shop/never/c")
		}
	})
	f.set("shop/never", labels("late"))
	becomes(t, of, "node/shop/never/c", added("never", "late", "web"))
	f.set("shop/a", labels("changed"))
	becomes(t, of, "node/shop/a/nginx/stdout", added("a", "changed", "web"))
	// The last lines of a deleted pod.
	f.set("shop/a", nil)
	f.set("shop/z", labels("z"))
	becomes(t, of, "node/shop/z/c", added("z", "z", "web"))
	if got := of("node/shop/a/nginx/stdout"); !strings.Contains(got, `app":"changed"`) {
		t.Error(got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.denied > 0 {
		t.Errorf("%d requests with another token, node or path", f.denied)
	}
}

// Watches that are dropped or expired, errors and lags: what is known stays, and every change arrives.
func TestOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testOutages)
}

func testOutages(t *testing.T) {
	f := startFakeAPI(t, inputtest.NewPipes())
	f.set("shop/a", labels("v0"))
	of := run(t, f, nil)
	becomes(t, of, "shop/a/c", added("a", "v0", "web"))
	random := testrand.New(t)
	for i := 1; i <= 12; i++ {
		switch random.IntN(5) {
		case 0:
			f.endWatches()
		case 1:
			f.expire()
			f.endWatches()
		case 2:
			f.change(func() { f.lag = time.Duration(random.IntN(50)) * time.Millisecond })
		case 3:
			f.setDown(true)
			f.endWatches()
			var got string
			soon(t, func() { got = of("shop/a/c") })
			if !strings.Contains(got, `app":"v`) {
				t.Fatalf("while the server is down: %s", got)
			}
			f.set("shop/a", labels("unseen"))
			f.setDown(false)
		}
		f.set("shop/a", labels(fmt.Sprint("v", i)))
		becomes(t, of, "shop/a/c", added("a", fmt.Sprint("v", i), "web"))
	}
	// A pod that is unknown while the server is down does not hold up, once the watch is known to fail.
	f.setDown(true)
	f.endWatches()
	soon(t, func() {
		of("shop/unknown/c")
		for i := range 3 {
			of(fmt.Sprintf("shop/unknown-%d/c", i))
		}
	})
	f.setDown(false)
	f.set("shop/unknown", labels("known"))
	becomes(t, of, "shop/unknown/c", added("unknown", "known", "web"))
}

// Watches that break again and again, and work in between, are no outage: the next one begins at once, not after a
// pause that grows with each.
func TestBrokenWatches(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.set("shop/a", labels("v0"))
	of := run(t, f, nil)
	becomes(t, of, "shop/a/c", added("a", "v0", "web"))
	begun := time.Now()
	const breaks = 12 // doubling the pause each time, they would take minutes
	for i := 1; i <= breaks; i++ {
		f.endWatches()
		f.set("shop/a", labels(fmt.Sprint("v", i)))
		becomes(t, of, "shop/a/c", added("a", fmt.Sprint("v", i), "web"))
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("it took %v", took)
	}
}

// 500 pods with much metadata take little memory.
func TestMemory(t *testing.T) {
	f := newFakeAPI(t)
	f.padding = strings.Repeat("p", 20_000)
	for i := range 500 {
		f.pods[fmt.Sprintf("shop/pod-%d", i)] = map[string]string{"app": fmt.Sprint("app-", i), "long": strings.Repeat("l", 20_000)}
	}
	before := heap.Live()
	of := run(t, f, func(o *podmeta.Options) { o.Labels, o.Annotations = []string{"app", "long"}, nil })
	for i := range 500 {
		got := of(fmt.Sprintf("shop/pod-%d/c/stdout", i))
		if want := fmt.Sprintf(`{"$cut":1,"resource":{"k8s.pod.label.app":"app-%d","k8s.pod.label.long":"lll`, i); !strings.HasPrefix(got, want) || len(got) > 1200 {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	if grown := heap.Live() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists != 5 {
		t.Errorf("%d pages", f.lists)
	}
}

// Records of known pods take no memory.
func TestAllocations(t *testing.T) {
	f := newFakeAPI(t)
	f.set("shop/a", labels("cart"))
	of := run(t, f, nil)
	becomes(t, of, "shop/a/c", added("a", "cart", "web"))
	if n := testing.AllocsPerRun(10_000, func() { of("shop/a/c") }); n > 2 {
		t.Errorf("%v allocations", n) // those of this test: the record, and the attributes as a string
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]podmeta.Options{
		"requires labels or annotations": {Server: "https://x"},
		"want a URL":                     {Server: "x", Labels: []string{"a"}},
		"no such file":                   {Server: "https://x", Labels: []string{"a"}, CAFile: "none"},
	} {
		if _, err := podmeta.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
