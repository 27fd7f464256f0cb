package agent

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"logstow/config"
	"logstow/input/files"
	"logstow/input/kinds"
	"logstow/input/listen"
	"logstow/input/multiline"
	"logstow/internal/test/await"
	"logstow/process"
)

// A reload that changes the processing of an input does not restart it: a listener keeps its address, which
// the system chose, and a file is read on. Other inputs are not concerned.
func TestReloadRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := config.Input{
		Common: config.Common{Service: "web", Multiline: &multiline.Options{}}, Spec: &kinds.HTTP{},
		Endpoint: listen.Endpoint{Address: "127.0.0.1:0"},
	}
	w.settings.Inputs = append(w.settings.Inputs, server)
	w.append("a.log", "file-one\n")
	p, log, stop := w.startLogged()
	reload(p, w.settings, w.settings) // it runs
	address := regexp.MustCompile(`msg=listening input=http address=(\S+)`).FindStringSubmatch(log.String())
	if address == nil {
		t.Fatal(log.String())
	}
	post := func(line string) {
		t.Helper()
		response, err := http.Post("http://"+address[1]+"/v1/lines", "text/plain", strings.NewReader(line+"\n")) //nolint:noctx // it is local
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			t.Fatalf("status %d", response.StatusCode)
		}
	}
	post("sent-one secret")
	again := w.settings
	again.Inputs = []config.Input{w.settings.Inputs[0], server}
	again.Inputs[1].Process = process.Options{
		Drop:    []process.Rule{{Contains: []string{"noise"}}},
		Replace: []process.Replacement{{Regexp: regexp.MustCompile("secret")}},
	}
	reload(p, again, again)
	post("sent-two secret")
	post("noise")
	again.Inputs[1].Process = process.Options{}
	reload(p, again, again)
	post("sent-three secret noise")
	w.append("a.log", "file-two noise\n")
	text, err := stop()
	if err != nil || strings.Count(text, "inputs_kept=2 inputs_stopped=0 inputs_started=0 inputs_reprocessed=1") != 2 {
		t.Errorf("%v\n%s", err, text)
	}
	stored := w.stored("s")
	for _, line := range []string{"file-one", "file-two noise", "sent-one secret", "sent-two [redacted]", "sent-three secret noise"} {
		if strings.Count(stored, line+"\n") != 1 {
			t.Errorf("no %q in\n%s", line, stored)
		}
	}
	if strings.Count(stored, "noise") != 2 {
		t.Errorf("stored:\n%s", stored)
	}
}

// A reload that is rejected changes no rules.
func TestRejectedReloadKeepsRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, stop := w.start()
	again := w.settings
	changed, invalid := w.files("a.log"), w.files("b.log")
	changed.Process = process.Options{Drop: []process.Rule{{Contains: []string{"line"}}}}
	invalid.Spec.(*files.Spec).Exclude = []string{"["}
	again.Inputs = []config.Input{changed, invalid}
	reload(p, again, w.settings)
	again.Inputs = []config.Input{changed}
	again.Inputs[0].Process.RateLimit = -1
	reload(p, again, w.settings)
	w.append("a.log", "line\n")
	log, err := stop()
	if err != nil || strings.Count(log, "reload rejected") != 2 {
		t.Errorf("%v\n%s", err, log)
	}
	if stored := w.stored("s"); !strings.Contains(stored, "line\n") {
		t.Errorf("stored: %q", stored)
	}
}

// A shorter flush interval applies at once to the records that wait, and no input is restarted for it.
func TestReloadFlushInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.FlushInterval = time.Hour
	w.settings.BufferDir = ""
	w.append("a.log", "one\n")
	p, stop := w.start()
	reload(p, w.settings, w.settings) // it runs
	await.Until(t, patience, "the record waits", func() bool { return p.buffer.Stats().Open == 1 })
	again := w.settings
	again.FlushInterval = 10 * time.Millisecond
	reload(p, again, again)
	await.Until(t, patience, "it is stored and indexed", func() bool {
		st := p.buffer.Stats()
		return p.uploader.Stats().Segments == 1 && st.Waiting+st.Sending == 0
	})
	log, err := stop()
	if err != nil || strings.Count(log, "flush interval changed") != 1 || !strings.Contains(log, "inputs_kept=1 inputs_stopped=0 inputs_started=0") || strings.Contains(log, "requires a restart") {
		t.Errorf("%v\n%s", err, log)
	}
}
