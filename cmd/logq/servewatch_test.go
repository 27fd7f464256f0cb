package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"logstow/internal/cli"
	"logstow/internal/test/await"
	"logstow/store"
	"logstow/store/local"
	"logstow/watch"
)

// watchWorld is a server with --watch over a store with the services pay, shop and web, and a token for each and for all.
type watchWorld struct {
	t       *testing.T
	dir     string
	address string
	lines   <-chan served
	stop    func() int
}

// makeServices makes services in a store, of which prefixes are all that is needed.
func makeServices(t *testing.T, dir string, services ...string) {
	t.Helper()
	for _, service := range services {
		if err := os.MkdirAll(filepath.Join(dir, service, "2020"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, service, "2020", "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func newWatchWorld(t *testing.T, prepare func(dir string), args ...string) *watchWorld {
	t.Helper()
	w := &watchWorld{t: t, dir: t.TempDir()}
	makeServices(t, w.dir, "pay", "shop", "web")
	if prepare != nil {
		prepare(w.dir)
	}
	tokens := ""
	for name, services := range map[string]string{"shop": "[shop, 'shop-*']", "all": "['*']"} {
		sum := sha256.Sum256([]byte(name))
		tokens += fmt.Sprintf("- {name: %s, sha256: %s, services: %s}\n", name, hex.EncodeToString(sum[:]), services)
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	w.address, w.lines, w.stop = startServeOver(t, w.dir, append(args, "--tokens", file, "--metrics")...)
	return w
}

// dial opens a live tail with a token.
func (w *watchWorld) dial(token, query string) *websocket.Conn {
	w.t.Helper()
	conn, _, err := websocket.Dial(w.t.Context(), "ws://"+w.address+"/loki/api/v1/tail?"+url.Values{"query": {query}}.Encode(), //nolint:bodyclose // there is none
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// tail opens a live tail with a token, and waits until it is answered. The context ends with the tail; leave ends it.
func (w *watchWorld) tail(token, query string) (open context.Context, leave func()) {
	w.t.Helper()
	return w.answered(w.dial(token, query))
}

// showing is tail for a query that finds a record. It waits for the record, which is sent after the services are watched.
func (w *watchWorld) showing(token, query string) (open context.Context, leave func()) {
	w.t.Helper()
	conn := w.dial(token, query)
	reading, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if _, _, err := conn.Read(reading); err != nil {
		w.t.Fatal(err)
	}
	return w.answered(conn)
}

// answered waits until a tail answers.
func (w *watchWorld) answered(conn *websocket.Conn) (open context.Context, leave func()) {
	w.t.Helper()
	open = conn.CloseRead(w.t.Context())
	pinging, cancel := context.WithTimeout(open, time.Minute)
	defer cancel()
	if err := conn.Ping(pinging); err != nil {
		w.t.Error(err)
	}
	return open, func() {
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			w.t.Error(err)
		}
	}
}

// putNow stores a record of the service shop, without a database, which is not needed to read it.
func putNow(t *testing.T, dir string) {
	t.Helper()
	now := time.Now().UTC()
	put(t, dir, "shop", now, now.Format("15:04:05")+" INFO app.log x")
	if err := os.RemoveAll(filepath.Join(dir, ".logstow")); err != nil {
		t.Fatal(err)
	}
}

// watched are the services that have a watch in the store.
func (w *watchWorld) watched() (services []string) {
	w.t.Helper()
	s, err := local.Open(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	for page, err := range s.Tables().Query(w.t.Context(), watch.Table(s.Container()), store.Query{Partition: "watch|", RowFrom: "!", RowTo: "~"}) {
		if err != nil {
			return nil // there is no table
		}
		for _, e := range page {
			services = append(services, e.Row)
		}
	}
	return services
}

var watchedServices = regexp.MustCompile(`(?m)^logstow_watched_services (\d+)$`)

// await waits until as many services are watched.
func (w *watchWorld) await(want string) {
	w.t.Helper()
	await.Until(w.t, time.Minute, want+" services are watched", func() bool { return w.metric() == want })
}

// want checks how many services are watched now.
func (w *watchWorld) want(want string) {
	w.t.Helper()
	if got := w.metric(); got != want {
		w.t.Fatalf("%s services are watched, want %s", got, want)
	}
}

// metric is the number of services that are watched.
func (w *watchWorld) metric() string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.address+"/metrics", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer all")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	found := watchedServices.FindSubmatch(body)
	if found == nil {
		return "no"
	}
	return string(found[1])
}

// Tails watch what they follow, each service once, none that their token may not read, until the last of them ends.
func TestServeWatch(t *testing.T) {
	t.Parallel()
	w := newWatchWorld(t, nil, "--watch")
	if l := next(t, w.lines); l.Msg != "live tails are watched: shippers flush followed services early" {
		t.Errorf("%+v", l)
	}
	w.want("0")
	if got := w.watched(); got != nil {
		t.Errorf("watched before a tail: %q", got)
	}
	_, first := w.tail("shop", `{service_name=~".+"}`)
	w.await("1")
	_, second := w.tail("shop", `{service_name=~"shop|pay"} |= "x"`)
	_, none := w.tail("shop", `{service_name="pay"}`)
	w.want("1")
	_, third := w.tail("all", `{service=~"shop|web"}`)
	w.await("2") // it watches both by now
	_, fourth := w.tail("all", `{service_name!="shop", service=~".+"}`)
	w.await("3")
	var got []string
	await.Until(t, time.Minute, "three watches are stored", func() bool {
		got = w.watched()
		return len(got) >= 3
	})
	if want := []string{"pay", "shop", "web"}; !slices.Equal(got, want) {
		t.Errorf("watched %q, want %q", got, want)
	}
	fourth()
	w.await("2") // pay was watched by fourth alone
	none()
	first()
	second()
	w.want("2")
	third()
	w.await("0")
	_, _ = w.tail("all", `{service="web"}`) // which the server ends
	w.await("1")
	if status := w.stop(); status != cli.OK {
		t.Errorf("status %d", status)
	}
}

// Without --watch a tail writes nothing.
func TestServeUnwatched(t *testing.T) {
	t.Parallel()
	w := newWatchWorld(t, func(dir string) { putNow(t, dir) })
	open, _ := w.showing("all", `{service=~".+"}`)
	if got := w.metric(); got != "no" {
		t.Errorf("%s services are watched", got)
	}
	if open.Err() != nil {
		t.Error("the tail ended")
	}
	if status := w.stop(); status != cli.OK {
		t.Errorf("status %d", status)
	}
	if entries, err := os.ReadDir(w.dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A store that cannot be written is logged once, and tails go on.
func TestServeWatchDenied(t *testing.T) {
	t.Parallel()
	w := newWatchWorld(t, func(dir string) { // no database can be made, not even by root
		putNow(t, dir)
		if err := os.WriteFile(filepath.Join(dir, ".logstow"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}, "--watch")
	denied := 0
	if l := next(t, w.lines); strings.HasPrefix(l.Msg, "live tails are not watched") && l.Error != "" {
		denied++
	} else {
		t.Errorf("%+v", l)
	}
	for range 3 {
		open, leave := w.showing("all", `{service=~".+"}`)
		w.await("0") // all watches are denied
		if open.Err() != nil {
			t.Error("the tail ended")
		}
		leave()
	}
	if status := w.stop(); status != cli.OK {
		t.Errorf("status %d", status)
	}
	for l := range w.lines {
		if strings.HasPrefix(l.Msg, "live tails are not watched") {
			denied++
		}
	}
	if denied != 1 {
		t.Errorf("logged %d times", denied)
	}
}

// A directory that does not exist any more is not made.
func TestServeWatchMissingStore(t *testing.T) {
	t.Parallel()
	w := newWatchWorld(t, nil, "--watch")
	if err := os.Rename(w.dir, filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	w.tail("all", `{service="web"}`)
	if status := w.stop(); status != cli.OK {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
		t.Error("the store was made:", err)
	}
}
