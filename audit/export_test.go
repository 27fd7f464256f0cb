package audit

// Divide is o with days divided into parts of so many blobs, and entities that do not agree.
func Divide(o Options, blobs, entities int) Options {
	o.partBlobs, o.partEntities = blobs, entities
	return o
}
