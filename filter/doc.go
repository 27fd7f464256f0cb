// Package filter writes and reads the token filter of a segment: which blocks
// may hold a token, in a slice of a few kilobytes that is read alone.
//
// The writer collects the [Key] of each indexed token of a block's messages with
// a [Collector], and lays the keys of all blocks out with a [Builder]. The reader
// takes the [KeyOf] a token that every match must have, reads the slice that [Locate]
// names and asks it with [Slice.Blocks]. A block that is not in
// the answer does not hold the token; one that is may not hold it either, with a
// chance of 1 in [Odds]. docs/format/filter.md is the format, package token says
// what the tokens are.
//
// A filter is a list of keys for each block, sorted and scaled to a range of
// Odds values a key, the differences in Golomb-Rice code: about 9.3 bits a
// key. docs/decisions/0002-token-filter.md has the measurements.
package filter
