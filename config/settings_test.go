package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/config"
)

// Every default is valid.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, common := config.New(), config.NewCommon()
	for _, s := range slices.Concat(c.Flags(), common.Flags()) {
		if err := s.Set(s.Default); s.Default != "" && err != nil {
			t.Errorf("%s: %v", s.Flag, err)
		}
	}
	if c.FlushInterval != time.Minute || c.Width != time.Hour || c.NoFilter || c.NoIndex || c.BufferSize != 1<<30 || c.Sync != buffer.DefaultSync || c.Watch.MaxFlushes != 5000 {
		t.Errorf("%+v", c)
	}
	if common.MaxRecord != 1<<20 || common.Zone != time.UTC || !common.Multiline.Auto || common.Parse != "" || common.DayFirst {
		t.Errorf("%+v", common)
	}
}

// A key has the values of the flag of the same meaning, and a mistake in it is reported at its place.
func TestKeysAsFlags(t *testing.T) {
	t.Parallel()
	c, err := parse("max-flush-interval: 0\nwatch-interval: 0\nbuffer: {mode: memory, sync: never, on-lost-positions: stop}\ndate-order: dmy\ninputs: [{stdin: true}]")
	if err != nil || c.MaxFlushInterval != 0 || c.Watch.Interval != 0 || !c.Memory || c.Sync != buffer.SyncNever || c.OnLostPositions != buffer.StopLost || !c.Inputs[0].DayFirst {
		t.Errorf("%v: %+v", err, c)
	}
	for text, want := range map[string]string{
		"buffer: {size: 1KiB}":    "shipper.yaml:1:16: size: 1KiB: want at least 1MiB",
		"buffer: {sync: maybe}":   `shipper.yaml:1:16: sync: "maybe": want always, never or an interval such as 1s`,
		"max-watch-flushes: 0":    `shipper.yaml:1:20: max-watch-flushes: "0": want a number from 1`,
		"max-record: 17MiB":       "shipper.yaml:1:13: max-record: 17MiB: want 1KiB to 16MiB",
		"date-order: ymd":         `shipper.yaml:1:13: date-order: "ymd": want mdy or dmy`,
		"multiline: (":            "shipper.yaml:1:12: multiline: error parsing regexp",
		"multiline: {start: '('}": "shipper.yaml:1:20: start: error parsing regexp",
		"on-full: block":          "shipper.yaml:1:1: unknown key on-full",
		"log-metrics: [{max-series: 0, name: a, type: counter}]": `max-series: "0": want a number from 1 to 100000`,
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
