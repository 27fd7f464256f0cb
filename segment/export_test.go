package segment

// What the tests of the package's formats need of its insides.
var (
	AppendFooter = appendFooter
	DecodeFooter = decodeFooter
)

// Sizes that tests build and cut footers with.
const (
	FrameMagic     = frameMagic
	FrameHeader    = frameHeader
	TrailerSize    = trailerSize
	FooterOverhead = footerOverhead
	TailGuess      = tailReadSize
)
