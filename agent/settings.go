package agent

import (
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/logmetrics"
	"logstow/watch"
)

// Settings are the settings of a run, complete and valid: flags and the configuration
// file are read and checked by the caller.
type Settings struct {
	// Instance is the name of this shipper among those of its services.
	Instance string
	// Stores are the stores that segments are written to.
	Stores Stores
	// Service is the owner of the buffer: the service of all inputs, else [SeveralServices].
	Service string
	// Inputs are the inputs to read.
	Inputs []config.Input
	// Once ends the run when every input has been read to its end and everything is stored.
	Once bool
	// Reloadable makes SIGHUP read the settings again.
	Reloadable bool

	// FlushInterval, FlushSize (bytes), Width, MaxLateness, MaxOpen, NoFilter and Columns are
	// those of [buffer.Options].
	FlushInterval time.Duration
	FlushSize     int64
	Width         time.Duration
	MaxLateness   time.Duration
	MaxOpen       int
	NoFilter      bool
	Columns       []string

	// Watch is the response to watches.
	Watch watch.Settings

	// RetryFor limits, with Once, the time without a response from storage.
	RetryFor time.Duration
	// DrainTimeout limits the time to upload what was read after the run is stopped.
	DrainTimeout time.Duration

	// BufferDir is the directory of the buffer; "" keeps it in memory.
	BufferDir string
	// BufferSize is the maximum disk usage of the buffer in bytes.
	BufferSize int64
	Sync       buffer.Sync
	OnFull     buffer.OnFull
	// OnLostPositions is what to do if damage of the buffer lost the positions of inputs.
	OnLostPositions buffer.LostPositions

	// LogMetrics are the metrics that are computed from the records.
	LogMetrics []logmetrics.Spec
	// MetricsAddress is the address to serve metrics at; "" serves none.
	MetricsAddress string
}

// SeveralServices is the [Settings.Service] of a buffer whose inputs have several.
const SeveralServices = "_several"
