package problems_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"logstow/internal/hint"
	"logstow/internal/problems"
)

// All errors are logged, the first different ones kept, with their hints, and the others counted.
func TestList(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, nil))
	var l problems.List
	if l.Err() != nil || l.Texts() == nil || len(l.Texts()) > 0 {
		t.Errorf("empty: error %v, texts %q", l.Err(), l.Texts())
	}
	first := errors.New("number 0")
	l.Log(log, "a job", hint.Wrap(first, "try again"))
	l.Add(first)
	for i := range problems.Max {
		l.Log(log, "a job", fmt.Errorf("number %d", i+1))
	}
	if !errors.Is(l.Err(), first) {
		t.Errorf("error %v", l.Err())
	}
	if texts := l.Texts(); len(texts) != problems.Max+1 || texts[problems.Max] != "and 1 more" || !strings.Contains(texts[0], "try again") || !slices.Contains(texts, "number 99") {
		t.Errorf("%d texts: %q", len(texts), texts)
	}
	if n := strings.Count(logged.String(), "a job"); n != problems.Max+1 {
		t.Errorf("%d lines logged", n)
	}
	if none := (*problems.List)(nil); none.Err() != nil || len(none.Texts()) > 0 {
		t.Error("a nil list has errors")
	}
}
