package tail

// OnDevice is a position with another device number.
func OnDevice(value []byte, device uint64) []byte {
	p, err := decodePosition(value)
	if err != nil {
		panic(err)
	}
	p.id.device = device
	return p.encode()
}
