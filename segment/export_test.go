package segment

import (
	"logstow/columns"
	"logstow/message"
)

// What the tests of the package's formats need of its insides.
var (
	AppendFooter  = appendFooter
	DecodeFooter  = decodeFooter
	DecodePage    = decodePage
	DecodeOrigins = decodeOrigins
)

// Sizes that tests build and cut footers with.
const (
	FrameMagic     = frameMagic
	FrameHeader    = frameHeader
	TrailerSize    = trailerSize
	FooterOverhead = footerOverhead
	MaxOriginsList = maxOriginsList
	TailGuess      = tailReadSize
)

// EncodePages are the pages of blocks, of an output of so many inputs.
func EncodePages(inputs int, blocks ...[]uint32) [][]byte {
	e := newPageEncoder(inputs)
	var pages [][]byte
	for _, origins := range blocks {
		pages = append(pages, e.append(nil, origins))
	}
	return pages
}

// ReplaceColumns is a plain segment with other columns, right or wrong; forms are those of [Columns].
func ReplaceColumns(blob []byte, f *Footer, all []columns.Column, forms []message.Form) ([]byte, error) {
	changed := *f
	at := changed.Footer
	for i, s := range f.Sections {
		if s.Name == columnsSection {
			at, changed.Sections = s.Offset, f.Sections[:i:i]
		}
	}
	changed.Footer, changed.Columns, changed.ColumnsLength, changed.ColumnsHash = at, 0, 0, Hash{}
	frame, err := encodeColumns(all, forms, &changed)
	if err != nil {
		return nil, err
	}
	return appendFooter(append(blob[:at:at], frame...), &changed)
}
