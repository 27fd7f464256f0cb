package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/relay"
	"logstow/store"
	"logstow/watch"
)

const patience = 30 * time.Second

// watched is the store of a relay, with one watch. It is itself the source of watches.
type watched struct {
	store.Store
	watch.Watch
	reports chan watch.Shipper
}

func (w *watched) String() string { return "watched" }

func (w *watched) Watches(context.Context, []string, func()) ([]watch.Watch, error) {
	return []watch.Watch{w.Watch}, nil
}

func (w *watched) Report(_ context.Context, s watch.Shipper) error {
	if !s.Flushed.IsZero() {
		select {
		case w.reports <- s:
		default:
		}
	}
	return nil
}

// following starts a relay whose store has a watch on the service web.
func following(t *testing.T, change func(*place)) (*place, *watched) {
	t.Helper()
	senders := watch.NewSenders()
	p := start(t, func(p *place) {
		p.senders = senders
		if change != nil {
			change(p)
		}
	})
	now := time.Now()
	w := &watched{Watch: watch.Watch{Service: "web", Written: now, Clock: now, Read: now}, reports: make(chan watch.Shipper, 1)}
	f := watch.NewFlusher(watch.FlusherOptions{
		Instance: "relay-0", Senders: senders, Settings: watch.Settings{Interval: time.Millisecond, MaxFlushes: 100}, Stores: func(context.Context) []store.Store { return []store.Store{w} },
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx, p.buffer) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return p, w
}

// poll sends a poll for watches.
func (p *place) poll(method, id, token string, body string) (status int, a watch.Answer) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.address+relay.WatchesPath+id, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		p.t.Errorf("%q: %v", text, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode, a
}

// A sender learns of a watch at once, and the relay answers it after the sender has reported that it has flushed.
func TestWatches(t *testing.T) {
	t.Parallel()
	p, w := following(t, func(p *place) { p.tokens = map[string]string{"web": "secret"} })
	s, err := relay.Open(relay.Options{Name: "relay://" + p.address, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	woken := make(chan struct{}, 10)
	read := func() []watch.Watch {
		all, err := s.Watches(t.Context(), []string{"shop", "web"}, func() { woken <- struct{}{} })
		if err != nil {
			t.Error(err)
		}
		return all
	}
	if all := read(); len(all) > 0 {
		t.Errorf("%+v before a poll", all)
	}
	select {
	case <-woken:
	case <-time.After(patience):
		t.Fatal("not woken")
	}
	all := read()
	if len(all) != 1 || all[0].Service != "web" || !all[0].Written.Equal(w.Written) || all[0].Clock.Before(w.Clock) || all[0].Shippers != 1 {
		t.Fatalf("%+v, want %+v", all, w.Watch)
	}
	select {
	case r := <-w.reports:
		t.Errorf("the relay reported %+v before its sender", r)
	default:
	}
	if err := s.Report(t.Context(), watch.Shipper{Service: "web", Flushed: all[0].Clock}); err != nil {
		t.Error(err)
	}
	select {
	case r := <-w.reports:
		if !r.Flushed.Equal(all[0].Clock) || !r.Flushed.After(w.Written) { // that of the watch, if it had not waited for the report
			t.Errorf("%+v, want %v", r, all[0].Clock)
		}
	case <-time.After(patience):
		t.Fatal("the relay does not answer the watch")
	}
}

// Watches are those of services for which the token allows records, of any class.
func TestWatchesOfTokens(t *testing.T) {
	t.Parallel()
	p, _ := following(t, func(p *place) {
		p.tokens = map[string]string{"shop": "secret-1", "w*:audit": "secret-2"}
	})
	body := func(sender string) string {
		return fmt.Sprintf(`{"sender":%q,"version":"x","services":["web","shop"]}`, sender)
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "secret-1": http.StatusOK} {
		if status, a := p.poll(http.MethodPost, p.id, token, body(sender)); status != want || len(a.Watches) > 0 {
			t.Errorf("token %q: status %d, %+v", token, status, a)
		}
	}
	for began := time.Now(); ; { // the relay polls its store a little later
		status, a := p.poll(http.MethodPost, p.id, "secret-2", body(other))
		if status == http.StatusOK && len(a.Watches) == 1 {
			break
		}
		if status != http.StatusOK || time.Since(began) > patience {
			t.Fatalf("status %d, %+v", status, a)
		}
	}
	for name, c := range map[string]struct {
		method, id, body string
		status           int
	}{
		"another relay": {http.MethodPost, other, body(sender), http.StatusMisdirectedRequest},
		"no JSON":       {http.MethodPost, p.id, "x", http.StatusBadRequest},
		"no service":    {http.MethodPost, p.id, `{"sender":"` + sender + `","services":["web","a/b"]}`, http.StatusBadRequest},
		"no sender":     {http.MethodPost, p.id, `{"services":["web"]}`, http.StatusBadRequest},
		"long sender":   {http.MethodPost, p.id, body(strings.Repeat("x", 65)), http.StatusBadRequest},
		"empty":         {http.MethodPost, p.id, "", http.StatusLengthRequired},
		"too long":      {http.MethodPost, p.id, strings.Repeat("x", relay.MaxPoll+1), http.StatusRequestEntityTooLarge},
		"method":        {http.MethodGet, p.id, "", http.StatusMethodNotAllowed},
	} {
		if status, _ := p.poll(c.method, c.id, "secret-1", c.body); status != c.status {
			t.Errorf("%s: status %d, want %d", name, status, c.status)
		}
	}
}

// The end of a relay ends the polls that wait.
func TestWatchesEnd(t *testing.T) {
	t.Parallel()
	senders := watch.NewSenders()
	p := start(t, func(p *place) { p.senders = senders })
	ended := make(chan int)
	go func() {
		status, _ := p.poll(http.MethodPost, p.id, "", fmt.Sprintf(`{"sender":%q,"services":["web"]}`, sender))
		ended <- status
	}()
	for began := time.Now(); len(senders.Services()) == 0 && time.Since(began) < patience; {
		time.Sleep(time.Millisecond)
	}
	p.stop()
	select {
	case status := <-ended:
		if status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
	case <-time.After(patience / 3):
		t.Error("the poll still waits")
		<-ended
	}
}
