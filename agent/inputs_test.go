package agent

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/config"
	"logstow/input"
	"logstow/input/multiline"
)

// Each kind of network input has the time that it is configured to prefer.
func TestTimeFrom(t *testing.T) {
	t.Parallel()
	server := config.Server{TimeFrom: input.TimeLine}
	for _, in := range []config.Input{
		{Kind: config.KindSyslog, Syslog: config.Syslog{Server: server}},
		{Kind: config.KindForward, Forward: config.Forward{Server: server}},
		{Kind: config.KindGELF, GELF: config.GELF{Server: server}},
		{Kind: config.KindHTTP, HTTP: config.HTTP{Server: server}},
	} {
		in.Multiline = &multiline.Options{}
		p := &pipeline{Settings: Settings{Once: true}}
		opts, err := p.inputOptions(&in, nil, nil)
		if err != nil || opts.TimeFrom != input.TimeLine {
			t.Errorf("%s: %v %v", in.Kind, opts.TimeFrom, err)
		}
	}
}

// An input with options that its protocols reject is not opened.
func TestOpenHTTPChecksOptions(t *testing.T) {
	t.Parallel()
	p := &pipeline{}
	if r, err := p.openHTTP(t.Context(), &config.Input{}, input.Options{MaxRecord: 1}); err == nil {
		t.Errorf("got %v and no error", r)
	}
}

func TestPodServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, port, want string }{
		{"10.0.0.1", "6443", "https://10.0.0.1:6443"},
		{"10.0.0.1", "", "https://10.0.0.1:443"},
		{"fd00::1", "443", "https://[fd00::1]:443"},
		{"", "443", ""},
	} {
		env := map[string]string{"KUBERNETES_SERVICE_HOST": c.host, "KUBERNETES_SERVICE_PORT": c.port}
		got, err := podServer(func(name string) string { return env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// Requests to stores of Azure cost money, those to directories do not.
func TestPaid(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]bool{"azblob://logs": true, "/var/log/azblob:": false} {
		p := &pipeline{Settings: Settings{Stores: Stores{All: []string{"/var/log/store", spec}}}}
		if p.paid() != want {
			t.Errorf("%s: %v", spec, !want)
		}
	}
}

// slowInput is an input of files that it does not get to look at.
type slowInput struct{}

func (slowInput) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (slowInput) Started() <-chan struct{}      { return nil }

// A start waits for files, but not for ever; what that means is logged.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(logBuffer)
		p := newPipeline(Settings{}, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Getenv: noEnv})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		p.start(ctx, []*running{{spec: config.Input{Common: config.Common{Service: "web"}}, reader: slowInput{}, give: func() {}}})
		if took := time.Since(began); took != startTimeout || strings.Count(log.String(), "started before all files were found") != 1 || !strings.Contains(log.String(), "service=web") {
			t.Errorf("after %v: %s", took, log)
		}
		cancel()
		<-p.ended
	})
}
