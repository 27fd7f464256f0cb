package agent

import (
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/logmetrics"
	"logstow/watch"
)

// Settings are the settings of a run. The caller has read them from flags and the configuration file,
// validated them and applied defaults.
type Settings struct {
	// Instance is the instance ID of this shipper, unique among the shippers of its services.
	Instance string
	// Stores are the stores that segments are written to.
	Stores Stores
	// Service is the owner of the buffer: the service of all inputs, or [SeveralServices] if they differ.
	Service string
	// Inputs are the inputs to read.
	Inputs []config.Input
	// Once ends the run when every input has been read to its end and everything is stored.
	Once bool
	// Reloadable makes SIGHUP read the settings again.
	Reloadable bool

	// FlushInterval, MaxFlushInterval, FlushSize (bytes), Width, MaxLateness, MaxOpen, NoFilter and Columns are options
	// of the buffer, see [buffer.Options].
	FlushInterval    time.Duration
	MaxFlushInterval time.Duration
	FlushSize        int64
	Width            time.Duration
	MaxLateness      time.Duration
	MaxOpen          int
	NoFilter         bool
	Columns          []string

	// NoIndex writes nothing to tables: no index, and no responses to watches.
	NoIndex bool

	// Watch determines how the shipper responds to watches.
	Watch watch.Settings

	// RetryFor is how long a run with Once waits for a response from storage before it fails.
	RetryFor time.Duration
	// DrainTimeout limits the time to upload the remaining records after the run is stopped.
	DrainTimeout time.Duration

	// BufferDir is the directory of the buffer; "" keeps it in memory.
	BufferDir string
	// BufferSize is the maximum disk usage of the buffer in bytes.
	BufferSize int64
	Sync       buffer.Sync
	OnFull     buffer.OnFull
	// OnLostPositions is the policy for positions of inputs that are lost because the buffer was damaged.
	OnLostPositions buffer.LostPositions

	// LogMetrics are the metrics to compute from the records.
	LogMetrics []logmetrics.Spec
	// MetricsAddress is the address to serve metrics at; "" serves none.
	MetricsAddress string
}

// SeveralServices is the [Settings.Service] of a buffer for inputs of several services.
const SeveralServices = "_several"
