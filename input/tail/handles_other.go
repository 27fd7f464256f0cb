//go:build !unix

package tail

const nonblocking = 0

func defaultHandles() int { return maxHandles / 4 }
