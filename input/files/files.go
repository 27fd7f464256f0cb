// Package files is the input of files: of the files of containers too, with services by their paths, and with metadata of pods.
// Package tail reads them.
package files

import (
	"context"
	"fmt"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/otlp"
	"logstow/input/tail"
)

// Spec configures the input.
type Spec struct {
	Paths, Exclude []string
	Name           string
	Polling        bool
	// Pods configures the metadata of pods that is added to the sources of their records. It may be nil.
	Pods *PodMetadata
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return input.Kind{Name: "files", Files: true, Paths: s.Paths, Positions: true}
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key {
	return []input.Key{
		{Name: "files", To: &s.Paths},
		{Name: "exclude", To: &s.Exclude},
		{Name: "name", To: &s.Name, Check: checkName},
		{Name: "polling", To: &s.Polling},
		{Name: "pod-metadata", ForPattern: true, To: func() []input.Key {
			s.Pods = new(PodMetadata)
			return s.Pods.keys()
		}},
	}
}

func checkName(name string) error {
	if !blobnaming.ValidInstance(name) {
		return fmt.Errorf("%q: want letters, digits and . _ -", name)
	}
	return nil
}

// Open implements [input.Spec].
func (s *Spec) Open(_ context.Context, with input.Opening) (input.Reader, error) {
	watcher, err := s.Pods.open(&with)
	if err != nil {
		return nil, err
	}
	with.Parts = otlp.Parts(with.Options)
	opts := tail.Options{
		Options:   with.Options,
		Paths:     s.Paths,
		Exclude:   s.Exclude,
		Name:      s.Name,
		Once:      with.Once,
		FromStart: with.FromStart,
		FromEnd:   with.FromEnd,
		Polling:   s.Polling,
		MaxOpen:   with.MaxOpen,
		Skip:      with.Skip,
		Resume:    with.Resume,
		StopWait:  with.StopWait,
	}
	if !blobnaming.ValidService(with.Service) {
		pattern, err := container.ParsePattern(with.Service)
		if err != nil {
			return nil, err
		}
		opts.Service, opts.ServiceOf = "", pattern.Of
	}
	tailer, err := tail.New(opts)
	if err != nil || watcher == nil {
		return tailer, err
	}
	return podReader{tailer, watcher}, nil
}
