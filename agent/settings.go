package agent

import "logstow/config"

// Settings are the settings of a run. The caller has read them from flags and the configuration file,
// validated them and applied defaults.
type Settings struct {
	// Settings are those that have keys of the configuration. BufferDir is "" for a buffer in memory.
	config.Settings
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
}

// SeveralServices is the [Settings.Service] of a buffer for inputs of several services.
const SeveralServices = "_several"
