package compaction

// SetMemory sets what a merge holds, in bytes; 0 is what it holds otherwise.
func SetMemory(o *Options, n int64) { o.memory = n }

// SetBlockSize sets the block size of outputs.
func SetBlockSize(o *Options, n int) { o.blockSize = n }
