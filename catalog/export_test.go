package catalog

// WithPage returns a catalog of a store whose pages are full at a number of blobs.
func (c Catalog) WithPage(n int) *Catalog {
	c.page = n
	return &c
}
