package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/await"
	"logstow/internal/test/azurite"
	"logstow/internal/test/faultproxy"
)

// everyEndpoint are requests to all endpoints that read, about services that a matcher selects.
func everyEndpoint(matcher string) map[string][]string {
	selector := "{" + matcher + "}"
	requests := map[string][]string{
		"query_range logs":             inShop("query", selector, "limit", "1000"),
		"query_range filter":           inShop("query", selector+` |= "card" | logfmt | took > 1ms`),
		"query_range metric":           inShop("query", "sum by (service_name, level) (count_over_time("+selector+"[5m]))", "step", "5m"),
		"query_range unwrap":           inShop("query", "max_over_time("+selector+" | logfmt | unwrap duration(took) [5m])", "step", "5m"),
		"query_range absent":           inShop("query", "absent_over_time("+selector+"[5m])", "step", "5m"),
		"query":                        {"query", "rate(" + selector + "[1h])", "time", shopTo},
		"labels":                       inShop("query", selector),
		"label/service_name/values":    inShop("query", selector),
		"label/service/values":         inShop("query", selector),
		"label/instance/values":        inShop("query", selector),
		"series":                       inShop("match[]", selector),
		"series two":                   inShop("match[]", selector, "match[]", `{service_name="web"}`),
		"index/stats":                  inShop("query", selector),
		"index/volume":                 inShop("query", selector),
		"index/volume labels":          inShop("query", selector, "aggregateBy", "labels"),
		"index/volume_range":           inShop("query", selector, "step", "5m"),
		"detected_labels":              inShop("query", selector),
		"detected_fields":              inShop("query", selector),
		"detected_field/took/values":   inShop("query", selector),
		"detected_field/card/values":   inShop("query", selector+" | logfmt"),
		"patterns":                     inShop("query", selector),
		"label/service_name/values of": inShop("query", "{"+matcher+`, level="error"}`),
	}
	return requests
}

// times are the statistics that are times.
var times = regexp.MustCompile(`"(execTime|bytesProcessedPerSecond|linesProcessedPerSecond)":[0-9.e-]+`)

// reply is an answer as text, without the time of day and the times of statistics.
func (s *server) reply(t *testing.T, name string, params ...string) string {
	t.Helper()
	path, _, _ := strings.Cut(name, " ")
	answer, err := http.DefaultClient.Do(s.request(t, path, params...))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer.Header.Del("Date")
	text := times.ReplaceAllString(string(body), `"$1":0`)
	// With a statistic of one digit more or less the length differs too.
	answer.Header.Del("Content-Length")
	return fmt.Sprint(answer.Status, " ", answer.Header, "\n", text)
}

// with is the server for another client.
func (s *server) with(token string) *server {
	other := *s
	other.token = token
	return &other
}

// tokenFile writes tokens with the services that each may read; the name of a token is the token.
func tokenFile(t *testing.T, services map[string][]string) string {
	t.Helper()
	var text strings.Builder
	for _, token := range slices.Sorted(maps.Keys(services)) {
		globs, err := json.Marshal(services[token])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "- {name: %s, sha256: %x, services: %s}\n", token, sha256.Sum256([]byte(token)), globs)
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A service that a token may not read is answered as one that does not exist, to the byte, and with the same requests of
// storage. Without a token, or with one that is unknown, all answers are one.
func TestServeTokens(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	proxy, err := faultproxy.Start(faultproxy.Options{Blob: a.BlobEndpoint, Table: a.TableEndpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	through := azurite.Azurite{BlobEndpoint: proxy.BlobEndpoint, TableEndpoint: proxy.TableEndpoint}
	s := target{name: "azurite", store: "azblob://" + a.Container(), env: []string{"AZURE_STORAGE_CONNECTION_STRING=" + through.ConnectionString()}}
	fillShop(t, s, shopBytes)
	server := s.serve(t, "--metrics", "--tokens", tokenFile(t, map[string][]string{"all": {"*"}, "web": {"web"}, "paying": {"pay", "web"}}))

	for name, params := range everyEndpoint(`service_name="pay"`) {
		anonymous := server.reply(t, name, params...)
		if !strings.HasPrefix(anonymous, "401 ") {
			t.Errorf("%s without a token: %s", name, anonymous)
		}
		if diff := cmp.Diff(anonymous, server.with("wrong").reply(t, name, params...)); diff != "" {
			t.Errorf("%s with a wrong token: %s", name, diff)
		}
		none := server.reply(t, name, everyEndpoint(`service_name="nosuch"`)[name]...)
		if diff := cmp.Diff(anonymous, none); diff != "" {
			t.Errorf("%s without a token, no such service: %s", name, diff)
		}
	}

	web, all := server.with("web"), server.with("all")
	// requested counts the requests of storage that an answer takes.
	requested := func(ask func() string) (string, map[faultproxy.Kind]int) {
		before := proxy.Counts().Requests
		text := ask()
		after := proxy.Counts().Requests
		for kind, n := range before {
			if after[kind] -= n; after[kind] == 0 {
				delete(after, kind)
			}
		}
		return text, after
	}
	// What a matcher selects for a token of web is what another selects, in a store without pay.
	for forbidden, missing := range map[string]string{
		`service_name="pay"`:                   `service_name="nop"`,
		`service="pay"`:                        `service="nop"`,
		`service_name=~"pay"`:                  `service_name=~"nop"`,
		`service_name=~"pay|shop"`:             `service_name=~"nop|none"`,
		`service_name=~"pa.+"`:                 `service_name=~"no.+"`,
		`service_name=~"(?i)PAY"`:              `service_name=~"(?i)NOP"`,
		`service_name="pay", level="error"`:    `service_name="nop", level="error"`,
		`service_name="pay", instance="vm-1"`:  `service_name="nop", instance="vm-1"`,
		`service_name="pay", source=~".*"`:     `service_name="nop", source=~".*"`,
		`service_name!~"web|nop"`:              `service_name!~"web|pay"`,
		`service_name=~".+", service!="web"`:   `service_name=~".+", service!~"web|a"`,
		`service_name="pay", service_name!=""`: `service_name="nop", service_name!=""`,
	} {
		asPay, asMissing := everyEndpoint(forbidden), everyEndpoint(missing)
		for name := range asPay {
			web.reply(t, name, asMissing[name]...) // from here on footers are in memory
			got, gotRequests := requested(func() string { return web.reply(t, name, asPay[name]...) })
			want, wantRequests := requested(func() string { return web.reply(t, name, asMissing[name]...) })
			if diff := cmp.Diff(strings.ReplaceAll(want, "nop", "pay"), got); diff != "" {
				t.Errorf("%s %s: %s", name, forbidden, diff)
			}
			if strings.Contains(forbidden, "~") || name == "series two" { // those list, which is shared for seconds
				delete(gotRequests, faultproxy.ListBlobs)
				delete(wantRequests, faultproxy.ListBlobs)
			}
			if diff := cmp.Diff(wantRequests, gotRequests); diff != "" {
				t.Errorf("%s %s: requests: %s", name, forbidden, diff)
			}
			if strings.Contains(got, "card") || strings.Contains(got, `"pay"`) && !strings.Contains(name, "absent") {
				t.Errorf("%s %s: %s", name, forbidden, got)
			}
		}
	}
	// The same requests have answers for those who may read pay: the comparison above is about something.
	for name, params := range everyEndpoint(`service_name="pay"`) {
		if name == "detected_field/card/values" {
			continue // the word is no field
		}
		if diff := cmp.Diff(all.reply(t, name, params...), web.reply(t, name, params...)); diff == "" {
			t.Errorf("%s: equal for all tokens", name)
		}
		// Results that are kept have other statistics.
		want, _, _ := strings.Cut(all.reply(t, name, params...), `,"stats"`)
		got, _, _ := strings.Cut(server.with("paying").reply(t, name, params...), `,"stats"`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	server.testForbiddenTail(t)
	server.testLog(t)
}

// testLog wants the ranges of requests in the log, with those that are defaults, and nothing of their queries.
func (s *server) testLog(t *testing.T) {
	s.with("web").ask(t, "query_range", "query", `{service_name="web"} |= "needle"`)
	s.with("web").ask(t, "query", "query", "vector(1)", "time", shopTo)
	if status, _, err := s.with("web").try(t, "query_range", "query", `needle`); status != http.StatusBadRequest || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	type request struct {
		Msg, Path, Token, Services string
		Status                     int
		Start, End                 time.Time
	}
	var all []request
	log := ""
	await.Until(t, patience, "the requests are logged", func() bool {
		log, all = s.tail(), nil
		_, log, _ = strings.Cut(log, "\n") // the first line may be a part
		for line := range strings.Lines(log) {
			if r := decode[request](t, []byte(line)); r.Msg == "request" {
				all = append(all, r)
			}
		}
		return len(all) >= 3 && all[len(all)-1].Status == http.StatusBadRequest
	})
	for _, text := range []string{"needle", "nosuch", "service_name=", "vector"} {
		if strings.Contains(log, text) {
			t.Errorf("the log has %s: %s", text, log)
		}
	}
	last := all[len(all)-3:]
	at, err := time.Parse(time.RFC3339, shopTo)
	if err != nil {
		t.Fatal(err)
	}
	if r := last[0]; r.Token != "web" || r.Services != "web" || r.End.Sub(r.Start) != time.Hour || time.Since(r.End) > time.Minute {
		t.Errorf("%+v", r)
	}
	if r := last[1]; !r.Start.Equal(at) || !r.End.Equal(at) {
		t.Errorf("%+v", r)
	}
	if r := last[2]; !r.Start.IsZero() || !r.End.IsZero() {
		t.Errorf("%+v", r)
	}
}

// testForbiddenTail opens tails: one of a forbidden service and one of a service that does not exist get nothing, at the
// times at which one that may read it has all.
func (s *server) testForbiddenTail(t *testing.T) {
	if conn, err := s.follow(t, "query", `{service_name="pay"}`); err == nil || !strings.Contains(err.Error(), "401") {
		t.Error("a tail without a token: ", conn, err)
	}
	if conn, err := s.with("wrong").follow(t, "query", `{service_name="pay"}`); err == nil || !strings.Contains(err.Error(), "401") {
		t.Error("a tail with a wrong token: ", conn, err)
	}
	read := func(token, service string) *websocket.Conn {
		conn, err := s.with(token).follow(t, "query", `{service_name="`+service+`"}`, "start", shopFrom)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	forbidden, none, allowed := read("web", "pay"), read("web", "nosuch"), read("all", "pay")
	messages := make(chan string, 10)
	for name, conn := range map[string]*websocket.Conn{"forbidden": forbidden, "none": none} {
		go func() {
			if _, message, err := conn.Read(t.Context()); err == nil {
				messages <- name + ": " + string(message)
			}
		}()
	}
	if _, message, err := allowed.Read(t.Context()); err != nil || !strings.Contains(string(message), "card") {
		t.Errorf("%.200s %v", message, err)
	}
	select {
	case m := <-messages:
		t.Errorf("a tail of a service that may not be read: %.200s", m)
	default:
	}
}
