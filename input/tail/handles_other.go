//go:build !unix

package tail

const nonblocking = 0

func defaultMaxOpen() int { return maxOpenDefault / 4 }
