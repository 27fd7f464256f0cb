package segment

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
