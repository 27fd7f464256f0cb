// Package filter writes and reads the token filter of a segment: the blocks that may contain a
// token, in a slice of a few kilobytes that is read alone.
//
// The writer collects the [Key] of each indexed token of a block's messages with a [Collector], and
// encodes the keys of all blocks with a [Builder]. The reader takes the [KeyOf] a token that every
// match must contain, reads the slice that [Locate] returns and queries it with [Slice.Blocks]. A
// block that is not in the result does not contain the token; a block in the result may be a false
// positive, with a probability of 1 in [Odds]. docs/format/filter.md is the format, package token
// defines the tokens.
//
// A filter is a list of keys for each block, sorted and scaled to a range of
// Odds values a key, the differences in Golomb-Rice code: about 9.3 bits a
// key. docs/decisions/0002-token-filter.md has the measurements.
package filter
