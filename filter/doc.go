// Package filter writes and reads the token filter of a segment. It tells which blocks may contain a token, by reading
// only a slice of a few kilobytes.
//
// The writer collects the [Key] of each indexed token of a block's messages with a [Collector], and
// encodes the keys of all blocks with a [Builder]. The reader computes [KeyOf] a token that every
// match must contain, reads the slice that [Locate] returns and queries it with [Slice.Blocks]. A
// block that is not in the result does not contain the token; a block in the result may be a false
// positive, with a probability of 1 in [Odds]. docs/format/filter.md is the format, package token
// defines the tokens.
//
// For each block, a filter has a list of keys, sorted and scaled to a range of Odds values per key, as differences in
// Golomb-Rice code: about 9.3 bits per key. docs/decisions/0002-token-filter.md has the measurements.
package filter
