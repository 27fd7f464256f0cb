package input

import (
	"sync/atomic"

	"logstow/record/recognize"
)

// noted has what was logged of a source, or of an input whose sources are many. Safe for concurrent use.
type noted struct {
	// of is "source" or "input".
	of string

	truncated, rejected, missing, zone atomic.Bool
}

// noteOnce logs a note, unless one of its kind was logged before.
func (s *stamper) noteOnce(o *origin, logged *atomic.Bool, message string, args ...any) {
	if !logged.Swap(true) {
		log := s.opts.Log.With("source", o.label)
		log.Warn(message+" (logged once per "+o.noted.of+")", args...)
	}
}

// noteTruncated counts and logs a truncated message of size bytes.
func (s *stamper) noteTruncated(o *origin, size int64) {
	s.opts.Stats.Cut.Add(1)
	s.noteOnce(o, &o.noted.truncated, "line truncated at the record limit", "bytes", size, "limit", s.opts.MaxRecord)
}

// NoteCut counts a message that was truncated before it became a record, and logs the first one.
func (o *Options) NoteCut() {
	if o.Stats.Cut.Add(1) == 1 {
		o.Log.Warn("message truncated at the record limit (logged once per input)", "service", o.Service, "limit", o.MaxRecord)
	}
}

// noteRejectedTime counts and logs a rejected timestamp.
func (s *stamper) noteRejectedTime(o *origin, message []byte, reason recognize.Reason) {
	s.opts.Stats.TimesRejected.Add(1)
	if !o.noted.rejected.Load() {
		s.noteOnce(o, &o.noted.rejected, "timestamp rejected: the record gets the time it was sent or read",
			"reason", reason.String(), "line", excerpt(message))
	}
}

// noteMissingTime counts and logs a message in which the rules found no timestamp.
func (s *stamper) noteMissingTime(o *origin, message []byte) {
	s.opts.Stats.TimesNotFound.Add(1)
	if !o.noted.missing.Load() {
		s.noteOnce(o, &o.noted.missing, "no timestamp found by time-format, time-regexp or recognition", "line", excerpt(message))
	}
}

// noteAssumedZone logs that a time has the name of a zone that is unknown or has several meanings.
func (s *stamper) noteAssumedZone(o *origin, message []byte) {
	if !o.noted.zone.Load() {
		s.noteOnce(o, &o.noted.zone, "time zone is unknown or has several meanings, using the configured one",
			"line", excerpt(message), "hint", "set --time-zone to the zone of these times")
	}
}

// excerpt is the beginning of a line, for the log.
func excerpt(text []byte) string {
	return string(text[:min(len(text), 120)])
}
