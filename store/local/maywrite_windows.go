package local

// mayWrite assumes the permission: without it, opening the database fails.
func mayWrite(string) bool { return true }
