package tail

import (
	"io/fs"
	"os"
	"reflect"
)

// isRemoved is not known here: a removed file is one that is at no path.
func isRemoved(fs.FileInfo) bool { return false }

// idOf identifies a file by volume and index. Package os has both, but only compares them: os.SameFile loads them, and
// reflection reads them. The time of creation would not do, since Windows gives a new file that of an old one of its name.
func idOf(info fs.FileInfo) fileID {
	v := reflect.ValueOf(info)
	if !os.SameFile(info, info) || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fileID{} // not a file of the operating system
	}
	var parts [3]uint64
	for i, name := range []string{"vol", "idxhi", "idxlo"} {
		f := v.Elem().FieldByName(name)
		if !f.IsValid() || !f.CanUint() {
			return fileID{}
		}
		parts[i] = f.Uint()
	}
	return fileID{parts[0], parts[1]<<32 | parts[2]}
}
