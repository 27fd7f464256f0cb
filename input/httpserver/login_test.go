package httpserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"logstow/input/httpserver"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	var denied atomic.Int64
	var logged bytes.Buffer
	address, end := start(t, httpserver.Options{
		Login: httpserver.Login{
			Users:  map[string]string{"ann": "pass word", "bob": "canary-bob"},
			Tokens: []string{"canary-token", "aWQ6a2V5"},
		},
		Denied: &denied, Log: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	basic := func(user, password string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	wrong := int64(0)
	for _, c := range []struct {
		name, header string
		ok           bool
	}{
		{"none", "", false},
		{"basic", basic("ann", "pass word"), true},
		{"another's password", basic("ann", "canary-bob"), false},
		{"moved separator", basic("ann pass", "word"), false},
		{"unknown user", basic("eve", ""), false},
		{"prefix", basic("bob", "canary-bo"), false},
		{"bearer", "Bearer canary-token", true},
		{"bearer in lower case", "bearer  canary-token", true},
		{"wrong token", "Bearer canary-toke", false},
		{"empty token", "Bearer ", false},
		{"password as token", "Bearer canary-bob", false},
		{"token as password", basic("", "canary-token"), false},
		{"key of Elasticsearch", "ApiKey aWQ6a2V5", true},
		{"another scheme", "Digest canary-token", false},
		{"garbage", "Basic \xff", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/echo", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		answer, err := client(t, nil).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		want := http.StatusOK
		if !c.ok {
			want = http.StatusUnauthorized
			wrong++
		}
		asked := strings.Join(answer.Header.Values("WWW-Authenticate"), ", ")
		if answer.StatusCode != want || c.ok != (asked == "") || !c.ok && (!strings.Contains(asked, "Basic") || !strings.Contains(asked, "Bearer")) {
			t.Errorf("%s: status %d, %q", c.name, answer.StatusCode, asked)
		}
	}
	end()
	if denied.Load() != wrong {
		t.Errorf("%d counted, want %d", denied.Load(), wrong)
	}
	if text := logged.String(); !strings.Contains(text, "login failed") || strings.Contains(text, "canary") {
		t.Errorf("logged %s", text)
	}
	if text := fmt.Sprintf("%v %+v %#v", httpserver.Login{Tokens: []string{"canary"}}, struct{ L httpserver.Login }{httpserver.Login{Tokens: []string{"canary"}}},
		httpserver.Login{Tokens: []string{"canary"}}); strings.Contains(text, "canary") {
		t.Error(text)
	}
}

// A gRPC call without credentials gets UNAUTHENTICATED.
func TestLoginCall(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{Login: httpserver.Login{Tokens: []string{"x"}}})
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/echo", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/grpc")
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.Header.Get("Grpc-Status") != "16" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}
