package spool

import (
	"log/slog"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/internal/wait"
	"logstow/buffer/wal"
)

// Options configure a Spool. All fields are required, except TakenOverBy and OnLostPositions.
type Options struct {
	Dir, Instance string
	// TakenOverBy is Holder.TakenOverBy.
	TakenOverBy string
	FS          disk.FS
	// FlushSize is the size in bytes at which batches are sealed, MaxSize the limit of the bytes in Dir.
	FlushSize, MaxSize int64
	// RetryInterval is the time between retries while the disk is full.
	RetryInterval   time.Duration
	OnLostPositions wal.LostPositions
	// MaxUnindexed is the maximum number of index entities that wait.
	MaxUnindexed int
	Now          func() time.Time
	Log          *slog.Logger
	// Failure gets the final error, after which memory and disk may differ.
	Failure *wait.Failure
}
