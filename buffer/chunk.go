package buffer

import (
	"logstow/buffer/batching"
	"logstow/buffer/wal"
)

// Chunk is what an input appends at once: records of one service, and the positions of
// the input behind them. Either may be empty.
type Chunk = batching.Chunk

// Relayed are blocks of a segment that another shipper sealed.
type Relayed = batching.Relayed

// RelayedBlock is one of them.
type RelayedBlock = batching.RelayedBlock

// Position is how far an input was read; only the input interprets Value. An
// empty Value deletes the input's position.
type Position = wal.Position

// KeyPrefix begins the names of positions that hold keys of requests: package input/dedupe.
const KeyPrefix = wal.KeyPrefix

// LSN is the log sequence number of a call of Append: it stands for everything that was
// appended up to that call. It is valid for one Buffer, until Close.
type LSN = wal.LSN
