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
	"logstow/input/files"
	"logstow/input/multiline"
	"logstow/input/syslog"
)

// A network input has the time that it is configured to prefer.
func TestTimeFrom(t *testing.T) {
	t.Parallel()
	in := config.Input{Common: config.Common{Multiline: &multiline.Options{}}, Spec: &syslog.Spec{}, TimeFrom: input.TimeLine}
	p := &pipeline{Settings: Settings{Once: true}}
	if opts, err := p.inputOptions(&in, nil, nil); err != nil || opts.TimeFrom != input.TimeLine {
		t.Errorf("%v %v", opts.TimeFrom, err)
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
		p.start(ctx, []*running{{spec: config.Input{Common: config.Common{Service: "web"}, Spec: &files.Spec{}}, reader: slowInput{}, give: func() {}}})
		if took := time.Since(began); took != startTimeout || strings.Count(log.String(), "started before all files were found") != 1 || !strings.Contains(log.String(), "service=web") {
			t.Errorf("after %v: %s", took, log)
		}
		cancel()
		<-p.ended
	})
}
