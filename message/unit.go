package message

const second = 1e9 // in nanoseconds

// UnitOf returns the size of a unit in nanoseconds or bytes; NoDimension for other texts. Case matters: m is a minute, and M nothing.
func UnitOf(name string) (size uint64, d Dimension) {
	switch name {
	case "ns":
		return 1, Duration
	case "us", "µs", "μs": // micro sign and Greek letter
		return second / 1e6, Duration
	case "ms":
		return second / 1e3, Duration
	case "s":
		return second, Duration
	case "m":
		return 60 * second, Duration
	case "h":
		return 3600 * second, Duration
	case "d":
		return 24 * 3600 * second, Duration
	case "w":
		return 7 * 24 * 3600 * second, Duration
	case "B":
		return 1, Size
	case "kB", "KB":
		return 1e3, Size
	case "MB":
		return 1e6, Size
	case "GB":
		return 1e9, Size
	case "TB":
		return 1e12, Size
	case "PB":
		return 1e15, Size
	case "EB":
		return 1e18, Size
	case "KiB":
		return 1 << 10, Size
	case "MiB":
		return 1 << 20, Size
	case "GiB":
		return 1 << 30, Size
	case "TiB":
		return 1 << 40, Size
	case "PiB":
		return 1 << 50, Size
	case "EiB":
		return 1 << 60, Size
	}
	return 0, NoDimension
}

// SizeUnit returns the size in bytes of a unit in any case, with the B omitted or not: kib, KB, g. A prefix alone, as in 5K, is that of
// the unit short+B or short+iB: short is "" or "i".
func SizeUnit(name, short string) (size uint64, ok bool) {
	lower := []byte(name)
	for i, c := range lower {
		if c-'A' < 26 {
			lower[i] = c | 0x20
		}
	}
	if len(lower) == 0 || string(lower) == "b" {
		return 1, true
	}
	prefix := string(lower[:1])
	if prefix != "k" {
		prefix = string(lower[0] - 0x20)
	}
	switch string(lower[1:]) {
	case "":
		prefix += short
	case "b":
	case "i", "ib":
		prefix += "i"
	default:
		return 0, false
	}
	if prefix == "ki" {
		prefix = "Ki"
	}
	size, d := UnitOf(prefix + "B")
	return size, d == Size
}
