package patterns

// hashOf is a hash of a word that is the same in every process.
func hashOf[T string | []byte](word T) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 0x100000001b3
	}
	return h
}

// mix spreads a hash over all bits.
func mix(h uint64) uint64 {
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}
